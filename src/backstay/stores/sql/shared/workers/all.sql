-- Workers, the living first, then those heard of last.
SELECT
    id, type, state, host, boot_id, pid, version, kinds, queues, concurrency, running, settled, tainted,
    cpu_percent, rss_mb, loop_lag_ms, told, told_by, told_at, started_at, heartbeat_at, stopped_at, {now} AS now
FROM backstay.workers
ORDER BY CASE state WHEN 'alive' THEN 0 WHEN 'stopping' THEN 1 ELSE 2 END, heartbeat_at DESC
LIMIT :limit
