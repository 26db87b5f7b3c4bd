-- Find claims that ran out, overran their time limit or their deadline, and lock them for taking over.
-- One that a rescuer has (it carries no claim id) still overruns, but is the rescuer's until its own lease runs out.
SELECT
    id,
    lease_epoch,
    lease_expires_at < {now} AS ran_out,
    COALESCE(deadline < {now}, FALSE) AS missed_deadline
FROM windlass.jobs
WHERE state = 'running'
  AND (
    lease_expires_at < {now}
    OR (claim_id IS NOT NULL AND started_at + timeout + CAST(:overrun AS {interval}) < {now})
    OR (claim_id IS NOT NULL AND deadline + CAST(:overrun AS {interval}) < {now})
  )
ORDER BY worker, id
LIMIT :limit
{skip_locked}
