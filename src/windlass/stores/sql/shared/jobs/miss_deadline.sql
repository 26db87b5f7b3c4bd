-- Give up waiting jobs whose whole life was to be over by now.
WITH late AS MATERIALIZED (
    SELECT id AS job_id
    FROM windlass.jobs
    WHERE state IN ('scheduled', 'held', 'available')
      AND deadline IS NOT NULL
      AND deadline <= {now}
    ORDER BY deadline
    LIMIT :limit
    {skip_locked}
)
UPDATE windlass.jobs AS job
SET state = 'dead',
    reason = 'deadline',
    settled_epoch = job.lease_epoch,
    finished_at = clock.at,
    updated_at = clock.at
FROM late
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = late.job_id
RETURNING id, kind, lease_epoch, tenant, is_awaited
