-- The migrations that were applied.
SELECT number, name, checksum, applied_at
FROM backstay.migrations
ORDER BY number
