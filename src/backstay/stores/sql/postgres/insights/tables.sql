-- How many rows each table has, and how many dead ones that vacuum has not removed yet, as statistics tell.
SELECT relname AS name, n_live_tup AS live, n_dead_tup AS dead
FROM pg_stat_user_tables
WHERE schemaname = 'backstay'
ORDER BY relname
