-- How many open dead letters a decision would be about.
SELECT count(*) AS letters
FROM backstay.dead_letters
WHERE status IN ('new', 'investigating')
  AND died_at <= :died_until
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:fingerprint AS text) IS NULL OR fingerprint = :fingerprint)
