-- Enter a flow; sending it again after a lost reply changes nothing.
INSERT INTO backstay.flows (id, tenant, name, callback_id, created_by, created_at)
SELECT given.id, given.tenant, given.name, given.callback_id, given.created_by, {clock}
FROM {each id uuid, tenant text, name text, callback_id uuid, created_by text} AS given
WHERE TRUE
ON CONFLICT DO NOTHING
