-- One flow.
SELECT id, tenant, name, callback_id, created_by, created_at
FROM backstay.flows
WHERE id = :id
