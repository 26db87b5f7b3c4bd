-- The migrations of an application's own tables that were applied.
SELECT number, name, checksum, applied_at
FROM backstay.application_migrations
WHERE application = :application
ORDER BY number
