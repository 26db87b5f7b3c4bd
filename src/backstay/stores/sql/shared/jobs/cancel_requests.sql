-- Which jobs of a worker somebody wants stopped.
SELECT id, lease_epoch, cancel_reason
FROM backstay.jobs
WHERE state = 'running'
  AND worker = :worker
  AND cancel_requested_at IS NOT NULL
