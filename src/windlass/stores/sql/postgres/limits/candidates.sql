-- The best available jobs of limited (queue, kind) pairs for one live worker, locked but not claimed yet: their
-- arguments decide which limits they are under. Chosen as an ordinary claim chooses.
WITH wanted AS MATERIALIZED (
    SELECT
        pair.queue, pair.kind
    FROM unnest(:queues::text[], :kinds::text[]) AS pair (queue, kind)
    WHERE EXISTS (
        SELECT 1
        FROM windlass.workers
        WHERE id = :worker::text
          AND state = 'alive'
    )
      AND NOT EXISTS (
        SELECT 1
        FROM windlass.pauses
        WHERE (pauses.queue, pauses.kind) IN ((pair.queue, ''), ('', pair.kind))
    )
),
pairs AS MATERIALIZED (
    SELECT count(*) AS number
    FROM wanted
),
shares AS MATERIALIZED (
    SELECT wanted.queue, wanted.kind, :limit::bigint AS wanted
    FROM wanted
    WHERE (SELECT number FROM pairs) = 1
    UNION ALL
    SELECT best.queue, best.kind, count(*)
    FROM (
        SELECT wanted.queue, wanted.kind
        FROM wanted
        CROSS JOIN LATERAL (
            SELECT turn, id
            FROM windlass.jobs
            WHERE state = 'available'
              AND NOT is_suspect
              AND jobs.queue = wanted.queue
              AND jobs.kind = wanted.kind
            ORDER BY turn, id
            LIMIT :limit::bigint
        ) AS head
        WHERE (SELECT number FROM pairs) > 1
        ORDER BY head.turn, head.id
        LIMIT :limit::bigint
    ) AS best
    GROUP BY best.queue, best.kind
),
picked AS MATERIALIZED (
    SELECT found.id
    FROM shares
    CROSS JOIN LATERAL (
        SELECT id
        FROM windlass.jobs
        WHERE state = 'available'
          AND NOT is_suspect
          AND jobs.queue = shares.queue
          AND jobs.kind = shares.kind
        ORDER BY turn, id
        LIMIT shares.wanted
        FOR UPDATE SKIP LOCKED
    ) AS found
),
suspects AS MATERIALIZED (
    SELECT found.id
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT id
        FROM windlass.jobs
        WHERE state = 'available'
          AND is_suspect
          AND jobs.queue = wanted.queue
          AND jobs.kind = wanted.kind
        ORDER BY turn, id
        LIMIT :suspects::bigint
        FOR UPDATE SKIP LOCKED
    ) AS found
    LIMIT :suspects::bigint
)
SELECT job.id, job.queue, job.kind, job.args, job.tenant, job.order_key, job.turn
FROM windlass.jobs AS job
WHERE job.id = ANY (ARRAY(SELECT id FROM picked UNION ALL SELECT id FROM suspects))
