-- The jobs that hold permits of a limit now, the longest at it first.
SELECT job.id, job.kind, job.worker, job.started_at
FROM backstay.permits AS permit
JOIN backstay.jobs AS job ON job.id = permit.job_id AND job.lease_epoch = permit.lease_epoch
WHERE permit.limit_key = :limit_key
ORDER BY job.started_at, job.id
LIMIT :limit
