-- Say that a worker lives, and tell it the time; no row back means that it was given up for dead and must start under
-- a new id.
UPDATE backstay.workers
SET heartbeat_at = {clock},
    running = :running,
    settled = :settled,
    tainted = :tainted,
    cpu_percent = :cpu_percent,
    rss_mb = :rss_mb,
    loop_lag_ms = :loop_lag_ms
WHERE id = :id
  AND state IN ('alive', 'stopping')
RETURNING state, {now} AS now
