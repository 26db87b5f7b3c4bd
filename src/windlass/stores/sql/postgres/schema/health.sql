-- The database's time and when it was started.
SELECT {now} AS now, pg_postmaster_start_time() AS started_at
