-- Note that people were told.
UPDATE backstay.alerts
SET announced_at = {clock}
WHERE id = :id
