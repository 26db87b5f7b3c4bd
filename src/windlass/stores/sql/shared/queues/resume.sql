-- Let a queue or a kind be claimed again.
DELETE FROM windlass.pauses
WHERE queue = :queue
  AND kind = :kind
RETURNING queue
