-- Let queues and kinds be claimed again whose pause is over.
DELETE FROM backstay.pauses
WHERE ends_at IS NOT NULL
  AND ends_at <= {now}
RETURNING queue, kind
