-- Take a unique key for the window of time that the database's clock is in.
INSERT INTO backstay.unique_windows (tenant, key, window_number, job_id, expires_at)
SELECT
    :tenant, :key, {milliseconds clock.at} / {milliseconds CAST(:length AS {interval})}, :job_id,
    clock.at + CAST(:length AS {interval})
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT DO NOTHING
RETURNING job_id
