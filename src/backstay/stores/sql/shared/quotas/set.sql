-- Say how many jobs of a tenant, or of each, may wait in a queue, or in all.
INSERT INTO backstay.quotas (tenant, queue, most, set_at, set_by, reason)
SELECT :tenant, :queue, CAST(:most AS integer), clock.at, :by, :reason
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (tenant, queue) DO UPDATE
SET most = excluded.most,
    set_at = excluded.set_at,
    set_by = excluded.set_by,
    reason = excluded.reason
RETURNING tenant
