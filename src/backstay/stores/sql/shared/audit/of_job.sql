-- What was done to a job, in order.
SELECT id, at, tenant, actor, action, job_id, from_state, to_state, reason, source, details
FROM backstay.audit
WHERE job_id = :id
ORDER BY id
