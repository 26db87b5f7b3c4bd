-- Let an operation end after the step that is under way.
UPDATE backstay.operations
SET stopped_by = :by,
    next_at = {clock}
WHERE id = :id
  AND status = 'running'
  AND stopped_by IS NULL
RETURNING id, tenant, name
