-- One lock, if somebody holds it.
SELECT id, tenant, holder, job_id, fence, locked_at, expires_at, {now} AS now
FROM backstay.locks
WHERE tenant = :tenant
  AND id = :id
  AND expires_at > {now}
