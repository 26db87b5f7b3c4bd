-- Move a worker to another stage of its life.
UPDATE backstay.workers
SET state = :state,
    stopped_at = {clock}
WHERE id = :id
  AND state IN ('alive', 'stopping')
