-- The best available jobs of the wanted pairs. One writer at a time, so nothing needs locking; each pair's head is cut
-- to the limit before the heads are merged, so a long backlog is never sorted.
picked AS MATERIALIZED (
    SELECT job.id AS id
    FROM wanted
    CROSS JOIN backstay.jobs AS job
    WHERE job.rowid IN (
        SELECT head.rowid
        FROM backstay.jobs AS head
        WHERE head.state = 'available'
          AND NOT head.is_suspect
          AND head.queue = wanted.of_queue
          AND head.kind = wanted.of_kind
          AND head.turn >= :since
        ORDER BY head.turn, head.id
        LIMIT :limit
    )
    ORDER BY job.turn, job.id
    LIMIT :limit
),
suspects AS MATERIALIZED (
    SELECT job.id AS id
    FROM wanted
    CROSS JOIN backstay.jobs AS job
    WHERE job.rowid IN (
        SELECT head.rowid
        FROM backstay.jobs AS head
        WHERE head.state = 'available'
          AND head.is_suspect
          AND head.queue = wanted.of_queue
          AND head.kind = wanted.of_kind
        ORDER BY head.turn, head.id
        LIMIT :suspects
    )
    LIMIT :suspects
)
