-- The finished steps of a job, in the order in which its handler came to them.
SELECT job_id, name, position, attempt, run, worker, result, duration_ms, finished_at
FROM backstay.steps
WHERE job_id = :id
ORDER BY position, finished_at, name
