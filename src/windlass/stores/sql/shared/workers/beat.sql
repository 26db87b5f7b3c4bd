-- Say that a worker lives, and tell it the time; no row back means that it was given up for dead and must start under
-- a new id.
UPDATE windlass.workers
SET heartbeat_at = {clock},
    running = :running
WHERE id = :id
  AND state IN ('alive', 'stopping')
RETURNING state, {now} AS now
