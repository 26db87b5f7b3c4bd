-- How many dead letters nobody has closed, counted up to a limit.
SELECT count(*) AS dead_letters
FROM (
    SELECT 1
    FROM backstay.dead_letters
    WHERE status IN ('new', 'investigating')
    LIMIT :most
) AS counted
