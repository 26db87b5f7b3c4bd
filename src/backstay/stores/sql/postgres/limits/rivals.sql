-- The turns of the best available jobs of (queue, kind) pairs: those that limited jobs share a worker's slots with.
SELECT head.turn
FROM unnest(:queues::text[], :kinds::text[]) AS pair (queue, kind)
CROSS JOIN LATERAL (
    SELECT turn
    FROM backstay.jobs
    WHERE state = 'available'
      AND NOT is_suspect
      AND jobs.queue = pair.queue
      AND jobs.kind = pair.kind
    ORDER BY turn, id
    LIMIT :limit::bigint
) AS head
ORDER BY head.turn
LIMIT :limit::bigint
