-- Hand the best available jobs of the wanted (queue, kind) pairs to one live worker.
-- Where there are several pairs, `shares` looks without locking to learn how many jobs each contributes in order of
-- turn; `picked` then locks exactly that many of each, passing over what other workers hold. The update goes by primary key through
-- an array, because a join to a LIMIT … SKIP LOCKED sub-select can be run more than once by the planner.
WITH wanted AS MATERIALIZED (
    SELECT
        pair.queue, pair.kind, pair.lease, pair.timeout, pair.max_attempts,
        {clock} AS at
    FROM unnest(
        :queues::text[], :kinds::text[], :leases::interval[], :timeouts::interval[], :max_attempts::smallint[]
    ) AS pair (queue, kind, lease, timeout, max_attempts)
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
UPDATE windlass.jobs AS job
SET state = 'running',
    attempt = job.attempt + 1,
    run = job.run + 1,
    lease_epoch = job.lease_epoch + 1,
    max_attempts = GREATEST(COALESCE(job.own_max_attempts, wanted.max_attempts), job.attempt + 1),
    timeout = COALESCE(job.own_timeout, wanted.timeout),
    lease = COALESCE(job.own_lease, wanted.lease),
    lease_expires_at = wanted.at + COALESCE(job.own_lease, wanted.lease),
    heartbeat_at = wanted.at,
    started_at = wanted.at,
    updated_at = wanted.at,
    duration_ms = NULL,
    reason = NULL,
    worker = :worker::text,
    claim_id = :claim_id::uuid
FROM wanted
WHERE job.id = ANY (ARRAY(SELECT id FROM picked UNION ALL SELECT id FROM suspects))
  AND wanted.queue = job.queue
  AND wanted.kind = job.kind
RETURNING
    job.id, job.lease_epoch, job.kind, job.queue, job.args, job.attempt, job.own_max_attempts, job.run, job.crashes,
    job.is_suspect, job.own_timeout, job.own_lease, job.tenant, job.policy, job.correlation_id, job.deadline, job.turn
