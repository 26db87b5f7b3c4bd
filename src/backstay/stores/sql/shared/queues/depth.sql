-- How many jobs of a queue could run now, counted up to a limit; by the index of claims.
SELECT count(*) AS jobs
FROM (
    SELECT 1 AS one
    FROM backstay.jobs
    WHERE state = 'available'
      AND queue = :queue
    ORDER BY queue, kind
    LIMIT :most
) AS waiting
