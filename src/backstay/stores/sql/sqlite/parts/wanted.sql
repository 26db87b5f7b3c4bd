-- The (queue, kind) pairs that one live worker asks for and that are not paused.
wanted AS MATERIALIZED (
    SELECT
        queues.value AS of_queue, kinds.value AS of_kind, leases.value AS lease, timeouts.value AS timeout,
        limits.value AS max_attempts, {clock} AS at
    FROM json_each(:queues) AS queues
    JOIN json_each(:kinds) AS kinds ON kinds.key = queues.key
    JOIN json_each(:leases) AS leases ON leases.key = queues.key
    JOIN json_each(:timeouts) AS timeouts ON timeouts.key = queues.key
    JOIN json_each(:max_attempts) AS limits ON limits.key = queues.key
    WHERE EXISTS (
        SELECT 1
        FROM backstay.workers
        WHERE id = :worker
          AND state = 'alive'
    )
      AND NOT EXISTS (
        SELECT 1
        FROM backstay.pauses AS pause
        WHERE (pause.queue = queues.value AND pause.kind = '')
           OR (pause.queue = '' AND pause.kind = kinds.value)
    )
)
