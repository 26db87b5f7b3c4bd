-- Note that somebody waits for a job, so that its end is announced.
UPDATE windlass.jobs
SET is_awaited = TRUE
WHERE id = :id
  AND state NOT IN ('completed', 'dead', 'resolved', 'cancelled')
  AND NOT is_awaited
