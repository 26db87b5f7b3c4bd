-- The best available jobs of limited (queue, kind) pairs for one live worker: their arguments decide which limits they
-- are under. Chosen as an ordinary claim chooses.
WITH wanted AS MATERIALIZED (
    SELECT
        queues.value AS queue, kinds.value AS kind
    FROM json_each(:queues) AS queues
    JOIN json_each(:kinds) AS kinds ON kinds.key = queues.key
    WHERE EXISTS (
        SELECT 1
        FROM windlass.workers
        WHERE id = :worker
          AND state = 'alive'
    )
      AND NOT EXISTS (
        SELECT 1
        FROM windlass.pauses AS pause
        WHERE (pause.queue = queues.value AND pause.kind = '')
           OR (pause.queue = '' AND pause.kind = kinds.value)
    )
),
picked AS MATERIALIZED (
    SELECT job.id AS id
    FROM wanted
    CROSS JOIN windlass.jobs AS job
    WHERE job.rowid IN (
        SELECT head.rowid
        FROM windlass.jobs AS head
        WHERE head.state = 'available'
          AND NOT head.is_suspect
          AND head.queue = wanted.queue
          AND head.kind = wanted.kind
        ORDER BY head.turn, head.id
        LIMIT :limit
    )
    ORDER BY job.turn, job.id
    LIMIT :limit
),
suspects AS MATERIALIZED (
    SELECT job.id AS id
    FROM wanted
    CROSS JOIN windlass.jobs AS job
    WHERE job.rowid IN (
        SELECT head.rowid
        FROM windlass.jobs AS head
        WHERE head.state = 'available'
          AND head.is_suspect
          AND head.queue = wanted.queue
          AND head.kind = wanted.kind
        ORDER BY head.turn, head.id
        LIMIT :suspects
    )
    LIMIT :suspects
)
SELECT job.id, job.queue, job.kind, job.args, job.tenant, job.order_key, job.turn
FROM windlass.jobs AS job
WHERE job.id IN (SELECT id FROM picked UNION ALL SELECT id FROM suspects)
