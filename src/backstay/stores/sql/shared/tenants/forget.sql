-- Forget the pause of a tenant that is over, when nothing is held because of it any more.
DELETE FROM backstay.tenant_pauses
WHERE tenant = :tenant
  AND ends_at <= {now}
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS job
    WHERE job.tenant = :tenant
      AND job.tenant <> ''
      AND job.state IN ('scheduled', 'held', 'available')
      AND job.state = 'held'
      AND COALESCE(job.reason, '') = 'tenant paused'
  )
RETURNING tenant
