-- Remove operations that ended long ago.
DELETE FROM backstay.operations
WHERE ended_at < {now} - CAST(:keep AS {interval})
