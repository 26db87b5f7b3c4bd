-- A page of jobs, newest first, that fit every filter given; a NULL filter lets everything through.
-- plan anew
SELECT
    job.id, job.kind, job.queue, job.state, job.reason, job.priority, job.run_at, job.attempt, job.max_attempts,
    job.run, job.crashes, job.is_suspect, job.lease_epoch, job.settled_epoch, job.settled_by, job.lease_expires_at,
    job.heartbeat_at, job.worker, job.created_at, job.updated_at, job.started_at, job.finished_at, job.duration_ms,
    job.tenant, job.args, job.result, job.error, job.own_max_attempts, job.own_timeout, job.own_lease, job.policy,
    job.tags, job.metadata, job.name, job.description, job.parent_id, job.correlation_id, job.created_by,
    job.idempotency_key, job.expires_at, job.deadline, job.cancel_requested_at,
    progress.current AS progress_current, progress.total AS progress_total, progress.message AS progress_message,
    progress.updated_at AS progress_at
FROM windlass.jobs AS job
LEFT JOIN windlass.progress AS progress
  ON progress.job_id = job.id
WHERE (CAST(:before AS {uuid}) IS NULL OR job.id < :before)
  AND (CAST(:state AS text) IS NULL OR job.state = :state)
  AND (CAST(:kind AS text) IS NULL OR job.kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR job.queue = :queue)
  AND (CAST(:tenant AS text) IS NULL OR job.tenant = :tenant)
  AND (CAST(:worker AS text) IS NULL OR job.worker = :worker)
  AND (CAST(:correlation_id AS text) IS NULL OR job.correlation_id = :correlation_id)
  AND (CAST(:parent_id AS {uuid}) IS NULL OR job.parent_id = :parent_id)
  AND (CAST(:tag AS text) IS NULL OR {has_tag job.tags :tag})
  AND (CAST(:created_from AS {timestamp}) IS NULL OR job.created_at >= :created_from)
  AND (CAST(:created_to AS {timestamp}) IS NULL OR job.created_at < :created_to)
ORDER BY job.id DESC
LIMIT :limit
