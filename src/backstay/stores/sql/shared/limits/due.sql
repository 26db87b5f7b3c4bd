-- Limits whose next token has come and that jobs wait for.
SELECT key
FROM backstay.limits
WHERE next_at IS NOT NULL
  AND next_at <= {now}
ORDER BY next_at
LIMIT :limit
