-- How many jobs of each queue and kind are in a state that has not ended or waits for a person, each state counted up
-- to a limit. The order of each part is that of the partial index of its rows, so that no other row is read.
WITH scheduled AS (
    SELECT queue, kind FROM backstay.jobs WHERE state = 'scheduled' ORDER BY run_at, id LIMIT :most
),
held AS (
    SELECT queue, kind FROM backstay.jobs WHERE state = 'held' ORDER BY reason, id LIMIT :most
),
running AS (
    SELECT queue, kind FROM backstay.jobs WHERE state = 'running' ORDER BY worker LIMIT :most
),
dead AS (
    SELECT queue, kind FROM backstay.jobs WHERE state = 'dead' ORDER BY finished_at, id LIMIT :most
)
SELECT 'scheduled' AS state, queue, kind, count(*) AS jobs FROM scheduled GROUP BY queue, kind
UNION ALL
SELECT 'held', queue, kind, count(*) FROM held GROUP BY queue, kind
UNION ALL
SELECT 'running', queue, kind, count(*) FROM running GROUP BY queue, kind
UNION ALL
SELECT 'dead', queue, kind, count(*) FROM dead GROUP BY queue, kind
