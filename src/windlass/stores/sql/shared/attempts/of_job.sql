-- Every finished attempt of a job that did not complete it, in order.
SELECT job_id, lease_epoch, attempt, run, status, worker, started_at, finished_at, duration_ms, error
FROM windlass.attempts
WHERE job_id = :id
ORDER BY lease_epoch
