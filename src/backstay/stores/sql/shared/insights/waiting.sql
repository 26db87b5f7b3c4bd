-- How many jobs of each queue and kind could run now, counted up to a limit, and since when the first of them could.
-- The pairs are found by jumping from one to the next in the claim's index, so that a million waiting jobs of a few
-- kinds cost a few looks; each part reads the partial index of its rows.
WITH RECURSIVE pairs (queue, kind) AS (
    SELECT
        (SELECT queue FROM backstay.jobs WHERE state = 'available' AND NOT is_suspect ORDER BY queue, kind LIMIT 1),
        (SELECT kind FROM backstay.jobs WHERE state = 'available' AND NOT is_suspect ORDER BY queue, kind LIMIT 1)
    UNION ALL
    SELECT
        (
            SELECT job.queue
            FROM backstay.jobs AS job
            WHERE job.state = 'available'
              AND NOT job.is_suspect
              AND (job.queue, job.kind) > (pairs.queue, pairs.kind)
            ORDER BY job.queue, job.kind
            LIMIT 1
        ),
        (
            SELECT job.kind
            FROM backstay.jobs AS job
            WHERE job.state = 'available'
              AND NOT job.is_suspect
              AND (job.queue, job.kind) > (pairs.queue, pairs.kind)
            ORDER BY job.queue, job.kind
            LIMIT 1
        )
    FROM pairs
    WHERE pairs.queue IS NOT NULL
),
suspect AS (
    SELECT queue, kind, run_at
    FROM backstay.jobs
    WHERE state = 'available'
      AND is_suspect
    ORDER BY queue, kind, turn
    LIMIT :most
),
overdue AS (
    SELECT queue, kind, run_at
    FROM backstay.jobs
    WHERE state = 'scheduled'
      AND run_at <= {now}
    ORDER BY run_at
    LIMIT :most
),
waiting AS (
    SELECT
        pairs.queue,
        pairs.kind,
        (
            SELECT count(*)
            FROM (
                SELECT 1
                FROM backstay.jobs AS job
                WHERE job.state = 'available'
                  AND NOT job.is_suspect
                  AND job.queue = pairs.queue
                  AND job.kind = pairs.kind
                LIMIT :most
            ) AS counted
        ) AS jobs,
        (
            SELECT min(head.run_at)
            FROM (
                SELECT job.run_at
                FROM backstay.jobs AS job
                WHERE job.state = 'available'
                  AND NOT job.is_suspect
                  AND job.queue = pairs.queue
                  AND job.kind = pairs.kind
                ORDER BY job.turn
                LIMIT 100
            ) AS head
        ) AS oldest_run_at
    FROM pairs
    WHERE pairs.queue IS NOT NULL
    UNION ALL
    SELECT queue, kind, count(*), min(run_at)
    FROM suspect
    GROUP BY queue, kind
    UNION ALL
    SELECT queue, kind, count(*), min(run_at)
    FROM overdue
    GROUP BY queue, kind
)
SELECT queue, kind, CAST(sum(jobs) AS bigint) AS jobs, min(oldest_run_at) AS oldest_run_at, {now} AS now
FROM waiting
GROUP BY queue, kind
ORDER BY queue, kind
