-- Hand the best available jobs of one (queue, kind) pair to one live worker, but no suspects. Otherwise as claim.
WITH wanted AS MATERIALIZED (
    SELECT :lease AS lease, :timeout AS timeout, :max_attempts AS max_attempts, {clock} AS at
    FROM backstay.workers
    WHERE id = :worker
      AND state = 'alive'
      AND NOT EXISTS (
        SELECT 1
        FROM backstay.pauses AS pause
        WHERE (pause.queue = :queue AND pause.kind = '')
           OR (pause.queue = '' AND pause.kind = :kind)
    )
)
UPDATE backstay.jobs AS job
{part start}
FROM wanted
WHERE job.id IN (
    SELECT head.id
    FROM backstay.jobs AS head
    WHERE head.state = 'available'
      AND NOT head.is_suspect
      AND head.queue = :queue
      AND head.kind = :kind
      AND head.turn >= :since
    ORDER BY head.turn, head.id
    LIMIT :limit
)
RETURNING {part claim}
