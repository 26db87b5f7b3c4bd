-- How a job ended, if it has; the result as it was stored.
SELECT state, result, reason, error
FROM backstay.jobs
WHERE id = :id
