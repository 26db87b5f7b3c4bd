-- Note that somebody waits for a job, so that its end is announced.
-- A claim at this very moment passes over the locked row, so the queue is told for those that can be claimed.
UPDATE backstay.jobs
SET is_awaited = TRUE
WHERE id = :id
  AND state NOT IN ('completed', 'dead', 'resolved', 'cancelled')
  AND NOT is_awaited
RETURNING CASE WHEN state = 'available' THEN queue END AS queue
