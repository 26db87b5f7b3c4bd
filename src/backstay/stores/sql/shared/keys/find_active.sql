-- The active job that holds a unique key.
SELECT id AS job_id
FROM backstay.jobs
WHERE tenant = :tenant
  AND unique_key = :key
  AND state IN ('scheduled', 'held', 'available', 'running')
  AND unique_key IS NOT NULL
