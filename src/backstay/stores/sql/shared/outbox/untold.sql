-- Changes that webhooks were not told yet, in order.
SELECT position, at, tenant, kind, queue, job_id, flow_id, from_state, to_state, reason, attempt, progress
FROM backstay.outbox
WHERE position > COALESCE((SELECT head.told FROM backstay.outbox_head AS head), 0)
ORDER BY position
LIMIT :limit
