-- Causes of the deaths since a moment, those that struck last first.
-- plan anew
SELECT
    letter.fingerprint,
    count(*) AS deaths,
    max(letter.died_at) AS last_died_at,
    sum(CASE WHEN letter.status IN ('new', 'investigating') THEN 1 ELSE 0 END) AS open_letters
FROM backstay.dead_letters AS letter
WHERE letter.fingerprint <> ''
  AND letter.died_at >= :since
  AND (CAST(:kind AS text) IS NULL OR letter.kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR letter.queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR letter.tenant = :tenant)
GROUP BY letter.fingerprint
ORDER BY last_died_at DESC, letter.fingerprint
LIMIT :limit
