-- Which database this is, and its time.
SELECT 'sqlite' AS name, sqlite_version() AS version, {now} AS now
