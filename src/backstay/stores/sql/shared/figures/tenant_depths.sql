-- How many jobs of one tenant are in each state that has not ended or waits for a person, each counted up to a limit.
-- The order of each part is that of the partial index of its rows, so that no job that has ended is read.
WITH scheduled AS (
    SELECT queue, kind
    FROM backstay.jobs
    WHERE state = 'scheduled'
      AND tenant = :tenant
    ORDER BY run_at, id
    LIMIT :most
),
held AS (
    SELECT queue, kind
    FROM backstay.jobs
    WHERE state = 'held'
      AND tenant = :tenant
    ORDER BY reason, id
    LIMIT :most
),
available AS (
    SELECT queue, kind
    FROM backstay.jobs
    WHERE state = 'available'
      AND tenant = :tenant
    ORDER BY queue, kind
    LIMIT :most
),
running AS (
    SELECT queue, kind
    FROM backstay.jobs
    WHERE state = 'running'
      AND tenant = :tenant
    ORDER BY worker
    LIMIT :most
),
dead AS (
    SELECT queue, kind
    FROM backstay.jobs
    WHERE state = 'dead'
      AND tenant = :tenant
    ORDER BY finished_at, id
    LIMIT :most
)
SELECT 'scheduled' AS state, queue, kind, count(*) AS jobs FROM scheduled GROUP BY queue, kind
UNION ALL
SELECT 'held', queue, kind, count(*) FROM held GROUP BY queue, kind
UNION ALL
SELECT 'available', queue, kind, count(*) FROM available GROUP BY queue, kind
UNION ALL
SELECT 'running', queue, kind, count(*) FROM running GROUP BY queue, kind
UNION ALL
SELECT 'dead', queue, kind, count(*) FROM dead GROUP BY queue, kind
