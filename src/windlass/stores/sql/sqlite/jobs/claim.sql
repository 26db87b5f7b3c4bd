-- Hand the best available jobs of the wanted (queue, kind) pairs to one live worker.
-- One writer at a time, so nothing needs locking; each pair's head is cut to the limit before the heads are merged,
-- so a long backlog is never sorted.
WITH wanted AS MATERIALIZED (
    SELECT
        queues.value AS queue, kinds.value AS kind, leases.value AS lease, timeouts.value AS timeout,
        limits.value AS max_attempts
    FROM json_each(:queues) AS queues
    JOIN json_each(:kinds) AS kinds ON kinds.key = queues.key
    JOIN json_each(:leases) AS leases ON leases.key = queues.key
    JOIN json_each(:timeouts) AS timeouts ON timeouts.key = queues.key
    JOIN json_each(:max_attempts) AS limits ON limits.key = queues.key
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
UPDATE windlass.jobs AS job
SET state = 'running',
    attempt = job.attempt + 1,
    run = job.run + 1,
    lease_epoch = job.lease_epoch + 1,
    max_attempts = max(COALESCE(job.own_max_attempts, wanted.max_attempts), job.attempt + 1),
    timeout = COALESCE(job.own_timeout, wanted.timeout),
    lease = COALESCE(job.own_lease, wanted.lease),
    lease_expires_at = {clock} + COALESCE(job.own_lease, wanted.lease),
    heartbeat_at = {clock},
    started_at = {clock},
    updated_at = {clock},
    duration_ms = NULL,
    reason = NULL,
    worker = :worker,
    claim_id = :claim_id
FROM wanted
WHERE job.id IN (SELECT id FROM picked UNION ALL SELECT id FROM suspects)
  AND wanted.queue = job.queue
  AND wanted.kind = job.kind
RETURNING
    id, lease_epoch, kind, queue, args, attempt, own_max_attempts, run, crashes, is_suspect, own_timeout, own_lease,
    tenant, policy, correlation_id, deadline, turn
