-- The transaction that has been open longest: dead rows younger than it cannot be removed.
SELECT pid, application_name AS application, statement_timestamp() - xact_start AS open_for
FROM pg_stat_activity
WHERE datname = current_database()
  AND backend_type = 'client backend'
  AND xact_start IS NOT NULL
  AND pid <> pg_backend_pid()
ORDER BY xact_start
LIMIT 1
