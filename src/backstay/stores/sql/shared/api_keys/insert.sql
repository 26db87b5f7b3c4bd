-- Keep a new API key; "created" tells that its prefix was free.
INSERT INTO backstay.api_keys (
    prefix, digest, name, tenant, role, scopes, sees_payloads, created_at, created_by, expires_at
)
SELECT :prefix, :digest, :name, :tenant, :role, :scopes, :sees_payloads, clock.at, :by,
       coalesce(CAST(:expires_at AS {timestamp}), clock.at + CAST(:expires_in AS {interval}))
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (prefix) DO NOTHING
RETURNING prefix
