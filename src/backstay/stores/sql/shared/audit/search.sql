-- A page of the audit trail, newest first.
SELECT id, at, tenant, actor, action, job_id, from_state, to_state, reason, source, details
FROM backstay.audit
WHERE id < :before
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:action AS text) IS NULL OR action = :action)
  AND (CAST(:job_id AS {uuid}) IS NULL OR job_id = :job_id)
  AND (CAST(:since AS {timestamp}) IS NULL OR at >= :since)
  AND (CAST(:until AS {timestamp}) IS NULL OR at < :until)
ORDER BY id DESC
LIMIT :limit
