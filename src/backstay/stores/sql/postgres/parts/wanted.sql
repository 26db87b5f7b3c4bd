-- The (queue, kind) pairs that one live worker asks for and that are not paused.
wanted AS MATERIALIZED (
    SELECT
        pair.queue AS of_queue, pair.kind AS of_kind, pair.lease, pair.timeout, pair.max_attempts,
        {clock} AS at
    FROM unnest(
        :queues::text[], :kinds::text[], :leases::interval[], :timeouts::interval[], :max_attempts::smallint[]
    ) AS pair (queue, kind, lease, timeout, max_attempts)
    WHERE EXISTS (
        SELECT 1
        FROM backstay.workers
        WHERE id = :worker::text
          AND state = 'alive'
    )
      AND NOT EXISTS (
        SELECT 1
        FROM backstay.pauses
        WHERE (pauses.queue, pauses.kind) IN ((pair.queue, ''), ('', pair.kind))
    )
)
