-- Webhooks by name.
SELECT id, tenant, name, url, events, kinds, form, secret, old_secret, old_secret_until, is_enabled, created_at, created_by,
       updated_at, {now} AS now
FROM backstay.webhooks
WHERE CAST(:tenant AS text) IS NULL OR tenant = :tenant
ORDER BY name, id
LIMIT :limit
