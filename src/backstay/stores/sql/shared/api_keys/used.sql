-- Note that a key has let somebody in; at most once a minute, so that a busy key is not written all the time.
UPDATE backstay.api_keys
SET last_used_at = {now}
WHERE prefix = :prefix
  AND (last_used_at IS NULL OR last_used_at < {now} - CAST(:pause AS {interval}))
