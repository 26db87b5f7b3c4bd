-- Which database this is, and its time.
SELECT 'postgres' AS name, current_setting('server_version') AS version, {now} AS now
