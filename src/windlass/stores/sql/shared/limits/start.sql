-- Start jobs that may, at the very moment by which that was decided: a claim as any other, but by id.
UPDATE windlass.jobs AS job
SET state = 'running',
    attempt = job.attempt + 1,
    run = job.run + 1,
    lease_epoch = job.lease_epoch + 1,
    max_attempts = {greatest}(COALESCE(job.own_max_attempts, given.most_attempts), job.attempt + 1),
    timeout = COALESCE(job.own_timeout, given.kind_timeout),
    lease = COALESCE(job.own_lease, given.kind_lease),
    lease_expires_at = given.at + COALESCE(job.own_lease, given.kind_lease),
    heartbeat_at = given.at,
    started_at = given.at,
    updated_at = given.at,
    duration_ms = NULL,
    reason = NULL,
    parked_for = NULL,
    worker = given.by_worker,
    claim_id = given.by_claim
FROM {each
    job_id uuid, most_attempts smallint, kind_timeout interval, kind_lease interval, by_worker text, by_claim uuid,
    at timestamp
} AS given
WHERE job.id = given.job_id
  AND job.state = 'available'
RETURNING
    id, lease_epoch, kind, queue, args, attempt, own_max_attempts, run, crashes, is_suspect, own_timeout, own_lease,
    tenant, policy, correlation_id, deadline, turn
