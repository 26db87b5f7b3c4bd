-- Locks that are held, the next to run out first.
SELECT id, tenant, holder, job_id, fence, locked_at, expires_at, {now} AS now
FROM backstay.locks
WHERE expires_at > {now}
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
ORDER BY expires_at, id
LIMIT :limit
