-- Open dead letters by their cause, the most frequent first, each with its newest letter as an example.
-- The causes are found by jumping from one to the next in the index by cause, and the letters of each are counted up to
-- a limit in the order of that index, between bounds that are the same, so that an order is asked for that no equality
-- makes pointless: a million letters of a few causes cost a few looks.
-- The example is looked up afterwards: errors are long, and most groups need but one of them.
-- A cause that people had closed before and that struck again since has come back: `last_closed_at` tells.
-- Naming a fingerprint opens the index by cause, which the list of all open letters must not be tempted to use.
WITH RECURSIVE causes (fingerprint) AS (
    SELECT (
        SELECT fingerprint
        FROM backstay.dead_letters
        WHERE status IN ('new', 'investigating')
          AND fingerprint <> ''
        ORDER BY fingerprint
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT later.fingerprint
        FROM backstay.dead_letters AS later
        WHERE later.status IN ('new', 'investigating')
          AND later.fingerprint <> ''
          AND later.fingerprint > causes.fingerprint
        ORDER BY later.fingerprint
        LIMIT 1
    )
    FROM causes
    WHERE causes.fingerprint IS NOT NULL
),
counted AS (
    SELECT
        causes.fingerprint,
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM backstay.dead_letters AS same
                WHERE same.fingerprint >= causes.fingerprint
                  AND same.fingerprint <= causes.fingerprint
                  AND same.fingerprint <> ''
                  AND same.status IN ('new', 'investigating')
                  AND (CAST(:kind AS text) IS NULL OR same.kind = :kind)
                  AND (CAST(:queue AS text) IS NULL OR same.queue = :queue)
                  AND (CAST(:tenant AS text) IS NULL OR same.tenant = :tenant)
                ORDER BY same.fingerprint
                LIMIT :most
            ) AS up_to_the_limit
        ) AS letters
    FROM causes
    WHERE causes.fingerprint IS NOT NULL
),
frequent AS MATERIALIZED (
    SELECT counted.fingerprint, counted.letters
    FROM counted
    WHERE counted.letters > 0
    ORDER BY counted.letters DESC, counted.fingerprint
    LIMIT :limit
)
SELECT
    cause.fingerprint, cause.letters, cause.letters >= :most AS is_capped,
    example.kind, example.job_id, example.reason, example.error, example.died_at AS last_died_at,
    (
        SELECT first.died_at
        FROM backstay.dead_letters AS first
        WHERE first.fingerprint = cause.fingerprint
          AND first.fingerprint <> ''
          AND first.status IN ('new', 'investigating')
          AND (CAST(:kind AS text) IS NULL OR first.kind = :kind)
          AND (CAST(:queue AS text) IS NULL OR first.queue = :queue)
          AND (CAST(:tenant AS text) IS NULL OR first.tenant = :tenant)
        ORDER BY first.died_at, first.job_id
        LIMIT 1
    ) AS first_died_at,
    (
        SELECT max(resolved_at)
        FROM backstay.dead_letters AS past
        WHERE past.fingerprint = cause.fingerprint
          AND past.fingerprint <> ''
          AND past.status IN ('resolved', 'ignored', 'retried')
          AND (CAST(:tenant AS text) IS NULL OR past.tenant = :tenant)
    ) AS last_closed_at
FROM frequent AS cause
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
ORDER BY cause.letters DESC, last_died_at DESC, cause.fingerprint
