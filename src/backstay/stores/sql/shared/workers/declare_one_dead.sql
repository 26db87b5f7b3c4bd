-- Give one worker up whose process is known to be gone; only the first to do so gets a row back.
UPDATE backstay.workers
SET state = 'dead',
    stopped_at = {clock}
WHERE id = :id
  AND state IN ('alive', 'stopping')
RETURNING id
