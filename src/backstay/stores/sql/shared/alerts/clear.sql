-- Note that rules hold no more.
UPDATE backstay.alerts
SET cleared_at = {clock}
WHERE cleared_at IS NULL
  AND rule = :rule
RETURNING id
