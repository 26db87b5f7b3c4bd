-- A whole job.
    job.id, job.kind, job.queue, job.state, job.reason, job.priority, job.run_at, job.attempt, job.max_attempts,
    job.run, job.crashes, job.is_suspect, job.lease_epoch, job.settled_epoch, job.settled_by, job.lease_expires_at,
    job.heartbeat_at, job.worker, job.created_at, job.updated_at, job.started_at, job.finished_at, job.duration_ms,
    job.tenant, job.args, job.result, job.error, job.own_max_attempts, job.own_timeout, job.own_lease, job.policy,
    job.tags, job.metadata, job.name, job.description, job.parent_id, job.correlation_id, job.created_by,
    job.idempotency_key, job.expires_at, job.deadline, job.cancel_requested_at, job.category,
    progress.current AS progress_current, progress.total AS progress_total, progress.message AS progress_message,
    progress.updated_at AS progress_at
