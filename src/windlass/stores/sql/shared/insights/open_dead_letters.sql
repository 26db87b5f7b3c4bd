-- How many dead letters nobody has closed.
SELECT count(*) AS dead_letters
FROM windlass.dead_letters
WHERE status IN ('new', 'investigating')
