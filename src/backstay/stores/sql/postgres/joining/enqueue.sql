-- Store checked jobs in whatever transaction is open: one statement, one value.
-- The value is text before it is JSON, because the caller's connection may have an encoder of its own for JSON.
SELECT stored.job_id, stored.is_new
FROM backstay.enqueue_checked(CAST(CAST(:jobs AS text) AS jsonb)) AS stored
