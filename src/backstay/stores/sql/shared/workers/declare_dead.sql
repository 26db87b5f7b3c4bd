-- Give up workers that have not been heard of for long; they can claim no more.
UPDATE backstay.workers
SET state = 'dead',
    stopped_at = {clock}
WHERE state IN ('alive', 'stopping')
  AND heartbeat_at < {now} - CAST(:silence AS {interval})
RETURNING id, host
