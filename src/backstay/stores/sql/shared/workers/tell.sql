-- Tell a living worker what to do; it reads this with its next sign of life.
UPDATE backstay.workers
SET told = :told,
    told_by = :actor,
    told_at = {clock}
WHERE id = :id
  AND state IN ('alive', 'stopping')
RETURNING id
