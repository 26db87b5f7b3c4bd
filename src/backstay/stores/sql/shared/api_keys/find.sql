-- The API key with this prefix, and whether it lets anybody in now.
SELECT prefix, digest, name, tenant, role, scopes, sees_payloads, created_at, created_by, expires_at, last_used_at,
       revoked_at, revoked_by, replaced_by, {now} AS now
FROM backstay.api_keys
WHERE prefix = :prefix
