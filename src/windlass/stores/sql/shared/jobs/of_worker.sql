-- Find what a worker that is gone still holds, and lock it for taking over.
SELECT
    id,
    lease_epoch,
    TRUE AS ran_out,
    FALSE AS missed_deadline
FROM windlass.jobs
WHERE state = 'running'
  AND worker = :worker
ORDER BY id
LIMIT :limit
{skip_locked}
