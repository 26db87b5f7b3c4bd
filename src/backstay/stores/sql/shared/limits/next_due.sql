-- When the next token comes that a job waits for, and the database's time now.
SELECT
    (
        SELECT next_at
        FROM backstay.limits
        WHERE next_at IS NOT NULL
        ORDER BY next_at
        LIMIT 1
    ) AS next_at,
    {now} AS now
