-- A page of jobs, newest first, that fit every filter given; a NULL filter lets everything through.
SELECT
    id, kind, queue, state, reason, priority, run_at, attempt, max_attempts, run, crashes, is_suspect, lease_epoch,
    settled_epoch, settled_by, lease_expires_at, heartbeat_at, worker, created_at, updated_at, started_at, finished_at,
    duration_ms, tenant, args, result, error, progress, own_max_attempts, own_timeout, own_lease, policy, tags,
    metadata, name, description, parent_id, correlation_id, created_by, idempotency_key, expires_at, deadline,
    cancel_requested_at
FROM windlass.jobs
WHERE (CAST(:before AS {uuid}) IS NULL OR id < :before)
  AND (CAST(:state AS text) IS NULL OR state = :state)
  AND (CAST(:kind AS text) IS NULL OR kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
  AND (CAST(:worker AS text) IS NULL OR worker = :worker)
  AND (CAST(:correlation_id AS text) IS NULL OR correlation_id = :correlation_id)
  AND (CAST(:parent_id AS {uuid}) IS NULL OR parent_id = :parent_id)
  AND (CAST(:tag AS text) IS NULL OR {has_tag tags :tag})
  AND (CAST(:created_from AS {timestamp}) IS NULL OR created_at >= :created_from)
  AND (CAST(:created_to AS {timestamp}) IS NULL OR created_at < :created_to)
ORDER BY id DESC
LIMIT :limit
