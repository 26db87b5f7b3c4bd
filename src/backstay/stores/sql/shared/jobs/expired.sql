-- Find claims that ran out, overran their time limit or their deadline, and lock them for taking over.
-- As of a moment that was compared with another clock: one that has jumped since does not count.
-- One that a rescuer has (it carries no claim id) still overruns, but is the rescuer's until its own lease runs out.
SELECT
    id,
    lease_epoch,
    lease_expires_at < clock.at AS ran_out,
    COALESCE(deadline < clock.at, FALSE) AS missed_deadline
FROM backstay.jobs
CROSS JOIN (SELECT {least}({now}, CAST(:as_of AS {timestamp})) AS at) AS clock
WHERE state = 'running'
  AND (
    lease_expires_at < clock.at
    OR (claim_id IS NOT NULL AND started_at + timeout + CAST(:overrun AS {interval}) < clock.at)
    OR (claim_id IS NOT NULL AND deadline + CAST(:overrun AS {interval}) < clock.at)
  )
ORDER BY worker, id
LIMIT :limit
{skip_locked}
