-- The job that took a unique key last.
SELECT job_id
FROM backstay.unique_windows
WHERE tenant = :tenant
  AND key = :key
ORDER BY window_number DESC
LIMIT 1
