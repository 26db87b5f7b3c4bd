-- The kinds of a worker that another living one reads by other code.
SELECT DISTINCT own.kind
FROM backstay.worker_signatures AS own
JOIN backstay.worker_signatures AS other
  ON other.kind = own.kind
 AND other.signature <> own.signature
JOIN backstay.workers AS worker
  ON worker.id = other.worker
WHERE own.worker = :id
  AND worker.state = 'alive'
