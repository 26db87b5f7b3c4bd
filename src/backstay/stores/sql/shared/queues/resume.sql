-- Let a queue or a kind be claimed again.
DELETE FROM backstay.pauses
WHERE queue = :queue
  AND kind = :kind
RETURNING queue
