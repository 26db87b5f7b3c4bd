-- The next open dead letters after a mark, oldest first. Jobs that die again meanwhile are younger than all of them.
SELECT died_at, job_id
FROM backstay.dead_letters
WHERE status IN ('new', 'investigating')
  AND died_at <= :died_until
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:fingerprint AS text) IS NULL OR fingerprint = :fingerprint)
  AND (died_at, job_id) > (:after_died_at, :after_job_id)
ORDER BY died_at, job_id
LIMIT :limit
