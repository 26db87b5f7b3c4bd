-- How many jobs of each queue and kind are in a state that has not ended or waits for a person, each counted up to a
-- limit; `is_capped` where there are more. Those that could run now are counted with how long they have waited.
-- The queues and kinds of a state are found by jumping from one to the next in an index of their own, so that a million
-- jobs of one queue neither hide another nor cost more than a few looks. Each pair is counted in the order of that index,
-- between bounds that are the same: an order that an equality made pointless would leave a scan of the table cheaper.
-- What runs is few: as much as workers take.
WITH RECURSIVE pairs (state, queue, kind) AS (
    SELECT
        states.state,
        (
            SELECT job.queue
            FROM backstay.jobs AS job
            WHERE job.state IN ('scheduled', 'held', 'dead')
              AND job.queue >= ''
              AND job.state = states.state
            ORDER BY job.queue, job.kind
            LIMIT 1
        ),
        (
            SELECT job.kind
            FROM backstay.jobs AS job
            WHERE job.state IN ('scheduled', 'held', 'dead')
              AND job.queue >= ''
              AND job.state = states.state
            ORDER BY job.queue, job.kind
            LIMIT 1
        )
    FROM (SELECT 'scheduled' AS state UNION ALL SELECT 'held' UNION ALL SELECT 'dead') AS states
    UNION ALL
    SELECT
        pairs.state,
        (
            SELECT job.queue
            FROM backstay.jobs AS job
            WHERE job.state IN ('scheduled', 'held', 'dead')
              AND job.queue >= ''
              AND job.state = pairs.state
              AND (job.queue, job.kind) > (pairs.queue, pairs.kind)
            ORDER BY job.queue, job.kind
            LIMIT 1
        ),
        (
            SELECT job.kind
            FROM backstay.jobs AS job
            WHERE job.state IN ('scheduled', 'held', 'dead')
              AND job.queue >= ''
              AND job.state = pairs.state
              AND (job.queue, job.kind) > (pairs.queue, pairs.kind)
            ORDER BY job.queue, job.kind
            LIMIT 1
        )
    FROM pairs
    WHERE pairs.queue IS NOT NULL
),
running AS (
    SELECT queue, kind FROM backstay.jobs WHERE state = 'running' ORDER BY worker LIMIT :most
),
counted AS (
    SELECT
        pairs.state,
        pairs.queue,
        pairs.kind,
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM backstay.jobs AS job
                WHERE job.state IN ('scheduled', 'held', 'dead')
                  AND job.queue >= ''
                  AND job.state = pairs.state
                  AND (job.queue, job.kind) >= (pairs.queue, pairs.kind)
                  AND (job.queue, job.kind) <= (pairs.queue, pairs.kind)
                ORDER BY job.queue, job.kind
                LIMIT :most
            ) AS same
        ) AS jobs
    FROM pairs
    WHERE pairs.queue IS NOT NULL
)
SELECT state, queue, kind, jobs, jobs >= :most AS is_capped
FROM counted
UNION ALL
SELECT 'running', queue, kind, count(*), (SELECT count(*) FROM running) >= :most
FROM running
GROUP BY queue, kind
