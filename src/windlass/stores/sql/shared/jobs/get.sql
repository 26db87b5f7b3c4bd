-- One job, whole.
SELECT
    id, kind, queue, state, reason, priority, run_at, attempt, max_attempts, run, crashes, is_suspect, lease_epoch,
    settled_epoch, settled_by, lease_expires_at, heartbeat_at, worker, created_at, updated_at, started_at, finished_at,
    duration_ms, tenant, args, result, error, progress, own_max_attempts, own_timeout, own_lease, policy, tags,
    metadata, name, description, parent_id, correlation_id, created_by, idempotency_key, expires_at, deadline,
    cancel_requested_at
FROM windlass.jobs
WHERE id = :id
