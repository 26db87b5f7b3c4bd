-- Put aside what a paused tenant has waiting, a bounded batch at a time. The states are named twice: once as the index
-- has them, which SQLite would not know otherwise, and once as they are meant.
WITH waiting AS MATERIALIZED (
    SELECT id AS job_id
    FROM backstay.jobs
    WHERE tenant = :tenant
      AND tenant <> ''
      AND state IN ('scheduled', 'held', 'available')
      AND state IN ('available', 'scheduled')
    LIMIT :limit
    {skip_locked}
)
UPDATE backstay.jobs AS job
SET state = 'held',
    reason = 'tenant paused',
    updated_at = clock.at
FROM waiting
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = waiting.job_id
RETURNING id
