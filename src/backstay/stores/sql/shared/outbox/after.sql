-- Changes after a position, in order.
SELECT position, at, tenant, kind, queue, job_id, flow_id, from_state, to_state, reason, attempt, progress
FROM backstay.outbox
WHERE position > :position
ORDER BY position
LIMIT :limit
