-- Drop locks that ran out long ago.
DELETE FROM backstay.locks
WHERE expires_at < {now} - CAST(:keep AS {interval})
RETURNING id
