-- Note that a tenant is paused, until a moment if one is given; what it has waiting is put aside by other statements.
INSERT INTO backstay.tenant_pauses (tenant, paused_at, paused_by, reason, ends_at)
SELECT :tenant, clock.at, :by, :reason, COALESCE(CAST(:until AS {timestamp}), clock.at + CAST(:length AS {interval}))
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (tenant) DO UPDATE
SET paused_at = excluded.paused_at,
    paused_by = excluded.paused_by,
    reason = excluded.reason,
    ends_at = excluded.ends_at
RETURNING tenant
