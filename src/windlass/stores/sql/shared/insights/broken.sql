-- Which rules about ended jobs do not hold among the newest, with one job as an example of each.
-- Bounded to the newest, because nothing indexes ended rows and a table may hold millions.
WITH newest AS MATERIALIZED (
    SELECT id, state, heartbeat_at, duration_ms, updated_at, finished_at
    FROM windlass.jobs
    ORDER BY id DESC
    LIMIT :newest
),
broken AS (
    SELECT 'heartbeat after the end' AS rule, id
    FROM newest
    WHERE finished_at IS NOT NULL
      AND heartbeat_at IS NOT NULL
    UNION ALL
    SELECT 'completed without a duration', id
    FROM newest
    WHERE state = 'completed'
      AND duration_ms IS NULL
    UNION ALL
    SELECT 'changed before its end', id
    FROM newest
    WHERE updated_at < finished_at
)
SELECT rule, count(*) AS jobs, min(CAST(id AS text)) AS example
FROM broken
GROUP BY rule
ORDER BY rule
