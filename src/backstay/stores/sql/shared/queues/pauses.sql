-- What is paused, since when, until when, by whom and why. The pause of a tenant that is over only waits for its jobs to
-- be let go.
SELECT queue, kind, '' AS tenant, paused_at, paused_by, reason, ends_at
FROM backstay.pauses
UNION ALL
SELECT '', '', tenant, paused_at, paused_by, reason, ends_at
FROM backstay.tenant_pauses
WHERE ends_at IS NULL
   OR ends_at > {now}
ORDER BY queue, kind, tenant
