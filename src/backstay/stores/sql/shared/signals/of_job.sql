-- The signals that a job has received, in the order in which they came.
SELECT job_id, name, position, key, payload, sent_by, sent_at
FROM backstay.signals
WHERE job_id = :id
ORDER BY sent_at, name, position
