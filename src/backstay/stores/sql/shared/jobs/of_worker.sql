-- Find what a worker that is gone still holds, and lock it for taking over; what a rescuer took already (it carries
-- no claim id) is the rescuer's until its own lease runs out.
SELECT
    id,
    lease_epoch,
    TRUE AS ran_out,
    FALSE AS missed_deadline
FROM backstay.jobs
WHERE state = 'running'
  AND worker = :worker
  AND (claim_id IS NOT NULL OR lease_expires_at < {now})
ORDER BY id
LIMIT :limit
{skip_locked}
