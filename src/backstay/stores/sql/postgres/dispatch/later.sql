-- The scheduled jobs that are due next.
SELECT id, queue, kind, priority, tenant, run_at
FROM backstay.jobs
WHERE state = 'scheduled'
ORDER BY run_at, id
LIMIT :limit::bigint
