-- Open dead letters by their cause, the most frequent first, each with its newest letter as an example.
-- The example is looked up afterwards: errors are long, and most groups need but one of them.
-- A cause that people had closed before and that struck again since has come back: `last_closed_at` tells.
-- Naming a fingerprint opens the index by cause, which the list of all open letters must not be tempted to use.
WITH causes AS MATERIALIZED (
    SELECT fingerprint, count(*) AS letters, min(died_at) AS first_died_at, max(died_at) AS last_died_at
    FROM backstay.dead_letters
    WHERE status IN ('new', 'investigating')
      AND fingerprint <> ''
      AND (CAST(:kind AS text) IS NULL OR kind = :kind)
      AND (CAST(:queue AS text) IS NULL OR queue = :queue)
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    GROUP BY fingerprint
    ORDER BY letters DESC, last_died_at DESC, fingerprint
    LIMIT :limit
)
SELECT
    cause.fingerprint, cause.letters, cause.first_died_at, cause.last_died_at,
    example.kind, example.job_id, example.reason, example.error,
    (
        SELECT max(resolved_at)
        FROM backstay.dead_letters AS past
        WHERE past.fingerprint = cause.fingerprint
          AND past.fingerprint <> ''
          AND past.status IN ('resolved', 'ignored', 'retried')
          AND (CAST(:tenant AS text) IS NULL OR past.tenant = :tenant)
    ) AS last_closed_at
FROM causes AS cause
JOIN backstay.dead_letters AS example
  ON example.job_id = (
        SELECT job_id
        FROM backstay.dead_letters AS newest
        WHERE newest.fingerprint = cause.fingerprint
          AND newest.fingerprint <> ''
          AND newest.status IN ('new', 'investigating')
          AND (CAST(:kind AS text) IS NULL OR newest.kind = :kind)
          AND (CAST(:queue AS text) IS NULL OR newest.queue = :queue)
          AND (CAST(:tenant AS text) IS NULL OR newest.tenant = :tenant)
        ORDER BY newest.died_at DESC, newest.job_id DESC
        LIMIT 1
    )
 AND example.status IN ('new', 'investigating')
ORDER BY cause.letters DESC, cause.last_died_at DESC, cause.fingerprint
