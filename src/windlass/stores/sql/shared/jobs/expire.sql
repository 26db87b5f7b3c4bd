-- Cancel jobs that nobody started in time.
WITH late AS MATERIALIZED (
    SELECT id AS job_id
    FROM windlass.jobs
    WHERE state IN ('scheduled', 'held', 'available')
      AND expires_at IS NOT NULL
      AND expires_at <= {now}
      AND run = 0
    ORDER BY expires_at
    LIMIT :limit
    {skip_locked}
)
UPDATE windlass.jobs AS job
SET state = 'cancelled',
    reason = 'expired',
    finished_at = clock.at,
    updated_at = clock.at
FROM late
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = late.job_id
RETURNING id, tenant, is_awaited
