-- How often each of these causes struck in each hour; hours are counted from 1970.
SELECT letter.fingerprint, {microseconds letter.died_at} / 3600000000 AS hour, count(*) AS deaths
FROM backstay.dead_letters AS letter
WHERE {any_of letter.fingerprint :fingerprints text}
  AND letter.fingerprint <> ''
  AND letter.died_at >= :since
  AND (CAST(:kind AS text) IS NULL OR letter.kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR letter.queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR letter.tenant = :tenant)
GROUP BY letter.fingerprint, hour
