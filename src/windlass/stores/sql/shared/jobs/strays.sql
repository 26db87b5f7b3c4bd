-- Find jobs that were claimed for a worker in a claim whose reply it never received.
SELECT
    id, lease_epoch, kind, queue, args, attempt, max_attempts, run, crashes, is_suspect, timeout, lease, tenant, policy,
    correlation_id, deadline, worker
FROM windlass.jobs
WHERE state = 'running'
  AND worker = :worker
  AND {any_of claim_id :unanswered uuid}
ORDER BY id
