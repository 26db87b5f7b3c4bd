-- The migrations that were applied.
SELECT number, name, checksum, applied_at
FROM windlass.migrations
ORDER BY number
