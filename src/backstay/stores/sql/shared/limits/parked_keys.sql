-- The next limits, in the order of keys, that jobs wait for: a step through the index for each, however many wait.
WITH RECURSIVE found (key, number) AS (
    SELECT
        (
            SELECT parked_for
            FROM backstay.jobs
            WHERE state = 'held'
              AND parked_for IS NOT NULL
              AND parked_for > CAST(:after AS text)
            ORDER BY parked_for, turn, id
            LIMIT 1
        ),
        1
    UNION ALL
    SELECT
        (
            SELECT parked_for
            FROM backstay.jobs
            WHERE state = 'held'
              AND parked_for IS NOT NULL
              AND parked_for > found.key
            ORDER BY parked_for, turn, id
            LIMIT 1
        ),
        found.number + 1
    FROM found
    WHERE found.key IS NOT NULL
      AND found.number < CAST(:limit AS integer)
)
SELECT key
FROM found
WHERE key IS NOT NULL
