-- How many jobs of one tenant are in each state that has not ended or waits for a person, each counted up to a limit;
-- where it `is_capped`, there are more in that state, perhaps of other queues.
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
SELECT 'scheduled' AS state, queue, kind, count(*) AS jobs, (SELECT count(*) FROM scheduled) >= :most AS is_capped
FROM scheduled GROUP BY queue, kind
UNION ALL
SELECT 'held', queue, kind, count(*), (SELECT count(*) FROM held) >= :most
FROM held GROUP BY queue, kind
UNION ALL
SELECT 'available', queue, kind, count(*), (SELECT count(*) FROM available) >= :most
FROM available GROUP BY queue, kind
UNION ALL
SELECT 'running', queue, kind, count(*), (SELECT count(*) FROM running) >= :most
FROM running GROUP BY queue, kind
UNION ALL
SELECT 'dead', queue, kind, count(*), (SELECT count(*) FROM dead) >= :most
FROM dead GROUP BY queue, kind
