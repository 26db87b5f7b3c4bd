-- When the next scheduled job is due, and the database's time now.
SELECT
    (
        SELECT run_at
        FROM windlass.jobs
        WHERE state = 'scheduled'
        ORDER BY run_at, id
        LIMIT 1
    ) AS next_run_at,
    {now} AS now
