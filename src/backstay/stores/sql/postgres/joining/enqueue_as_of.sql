-- Store checked jobs as `joining/enqueue` does, at the time of a test's clock instead of the server's.
SELECT stored.job_id, stored.is_new
FROM backstay.store_batch(
    CAST(CAST(:jobs AS text) AS jsonb), CAST(:at AS timestamptz), TRUE, TRUE
) WITH ORDINALITY AS stored (job_id, is_new, number)
ORDER BY stored.number
