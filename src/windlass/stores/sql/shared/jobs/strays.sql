-- Find jobs that are claimed for a worker under a claim it does not know, after a reply to its claim was lost.
SELECT
    id, lease_epoch, kind, queue, args, attempt, max_attempts, run, crashes, is_suspect, timeout, lease, priority,
    tenant, policy, correlation_id, deadline, created_at, run_at, started_at, worker, turn
FROM windlass.jobs
WHERE state = 'running'
  AND worker = :worker
  AND claim_id IS NOT NULL
  AND {none_of claim_id :known uuid}
ORDER BY id
