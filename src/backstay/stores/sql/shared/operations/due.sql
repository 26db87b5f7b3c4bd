-- The operation whose next step is due first, unless somebody takes it at this moment.
SELECT id
FROM backstay.operations
WHERE status = 'running'
  AND next_at <= {now}
ORDER BY next_at
LIMIT 1
{skip_locked}
