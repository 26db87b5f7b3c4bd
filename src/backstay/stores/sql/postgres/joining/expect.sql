-- Note what a job that is stored in the caller's transaction waits for, and how long. Written without casts of one
-- driver's, because it runs on whichever the caller uses.
INSERT INTO backstay.waits (job_id, name, number, position, is_open, waiting_since, times_out_at)
SELECT
    CAST(:job_id AS uuid),
    CAST(:signal AS text),
    1,
    1,
    TRUE,
    clock.at,
    clock.at + CAST(:seconds AS double precision) * INTERVAL '1 second'
FROM (SELECT COALESCE(CAST(:at AS timestamptz), clock_timestamp()) AS at) AS clock
ON CONFLICT (job_id, name, number) DO NOTHING
RETURNING job_id
