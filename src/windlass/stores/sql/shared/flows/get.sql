-- One flow.
SELECT id, tenant, name, callback_id, created_by, created_at
FROM windlass.flows
WHERE id = :id
