-- Open dead letters, newest first. An owner without a name has those that nobody looks into.
SELECT job_id, lease_epoch, tenant, kind, queue, reason, fingerprint, error, attempts, first_attempted_at, died_at, status,
       owner, note, resolution, resolved_by, resolved_at, changed_by, changed_at, version
FROM backstay.dead_letters
WHERE status IN ('new', 'investigating')
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:owner AS text) IS NULL OR COALESCE(owner, '') = :owner)
  AND (CAST(:fingerprint AS text) IS NULL OR fingerprint = :fingerprint)
ORDER BY died_at DESC, job_id DESC
LIMIT :limit
