-- The jobs that stand first in each line, to be compared with the lines in Redis. `pair` walks from line to line
-- through the index of claims, so that it costs the same however many jobs wait.
WITH RECURSIVE pair AS (
    (
        SELECT queue, kind
        FROM backstay.jobs
        WHERE state = 'available'
        ORDER BY queue, kind
        LIMIT 1
    )
    UNION ALL
    SELECT next.queue, next.kind
    FROM pair
    CROSS JOIN LATERAL (
        SELECT jobs.queue, jobs.kind
        FROM backstay.jobs
        WHERE jobs.state = 'available'
          AND (jobs.queue, jobs.kind) > (pair.queue, pair.kind)
        ORDER BY jobs.queue, jobs.kind
        LIMIT 1
    ) AS next
)
SELECT found.id, pair.queue, pair.kind, found.priority, found.tenant
FROM pair
CROSS JOIN LATERAL (
    SELECT jobs.id, jobs.priority, jobs.tenant, jobs.turn
    FROM backstay.jobs
    WHERE jobs.state = 'available'
      AND NOT jobs.is_suspect
      AND jobs.queue = pair.queue
      AND jobs.kind = pair.kind
    ORDER BY jobs.turn, jobs.id
    LIMIT :limit::bigint
) AS found
ORDER BY found.turn, found.id
LIMIT :limit::bigint
