-- Drop workers that ended long ago.
DELETE FROM windlass.workers
WHERE state IN ('stopped', 'dead')
  AND heartbeat_at < {now} - CAST(:silence AS {interval})
