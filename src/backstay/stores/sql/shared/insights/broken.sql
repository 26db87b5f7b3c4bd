-- Which rules about jobs do not hold among the newest, with one job as an example of each.
-- Bounded to the newest, because nothing indexes ended rows and a table may hold millions.
WITH newest AS MATERIALIZED (
    SELECT id, state, started_at, heartbeat_at, duration_ms, updated_at, finished_at,
           '-' || coalesce(worker, '') || '-' || coalesce(settled_by, '') || '-' AS hands
    FROM backstay.jobs
    ORDER BY id DESC
    LIMIT :newest
),
broken AS (
    SELECT 'heartbeat after the end' AS rule, id
    FROM newest
    WHERE finished_at IS NOT NULL
      AND heartbeat_at IS NOT NULL
    UNION ALL
    SELECT 'ended without a duration', id
    FROM newest
    WHERE finished_at IS NOT NULL
      AND started_at IS NOT NULL
      AND duration_ms IS NULL
    UNION ALL
    SELECT 'changed before its end', id
    FROM newest
    WHERE updated_at < finished_at
    UNION ALL
    SELECT 'ended before it started', id
    FROM newest
    WHERE finished_at < started_at
    UNION ALL
    SELECT 'dated in the future', id
    FROM newest
    WHERE updated_at > {now} + CAST(:ahead AS {interval})
    UNION ALL
    SELECT 'ran under a worker id that was not filled in', id
    FROM newest
    WHERE hands LIKE '%${%'
       OR hands LIKE '%-undefined-%'
       OR hands LIKE '%-None-%'
    UNION ALL
    SELECT 'dead without a dead letter', newest.id
    FROM newest
    WHERE newest.state = 'dead'
      AND NOT EXISTS (SELECT 1 FROM backstay.dead_letters AS letter WHERE letter.job_id = newest.id)
)
SELECT rule, count(*) AS jobs, min(CAST(id AS text)) AS example
FROM broken
GROUP BY rule
ORDER BY rule
