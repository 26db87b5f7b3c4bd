-- Let go what the pause of a tenant has held, a bounded batch at a time: at once if it is due, otherwise at its time.
-- By the index of the tenant, not by that of the reason, which other paused tenants share.
WITH held AS MATERIALIZED (
    SELECT id AS job_id
    FROM backstay.jobs
    WHERE tenant = :tenant
      AND tenant <> ''
      AND state IN ('scheduled', 'held', 'available')
      AND state = 'held'
      AND COALESCE(reason, '') = 'tenant paused'
    LIMIT :limit
    {skip_locked}
)
UPDATE backstay.jobs AS job
SET state = CASE WHEN job.run_at <= clock.at THEN 'available' ELSE 'scheduled' END,
    reason = NULL,
    updated_at = clock.at
FROM held
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = held.job_id
RETURNING id, queue
