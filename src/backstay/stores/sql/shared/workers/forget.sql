-- Drop workers that ended long ago.
DELETE FROM backstay.workers
WHERE state IN ('stopped', 'dead')
  AND heartbeat_at < {now} - CAST(:silence AS {interval})
