-- A page of flows, newest first.
SELECT id, tenant, name, callback_id, created_by, created_at
FROM backstay.flows
WHERE (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:before AS {uuid}) IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :limit
