-- Let a key open nothing any more.
UPDATE backstay.api_keys
SET revoked_at = {clock},
    revoked_by = :by
WHERE prefix = :prefix
  AND revoked_at IS NULL
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
RETURNING prefix, tenant, name
