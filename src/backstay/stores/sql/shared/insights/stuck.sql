-- How many claims ran out so long ago that somebody should have taken them over, counted up to a limit.
SELECT count(*) AS jobs
FROM (
    SELECT 1
    FROM backstay.jobs
    WHERE state = 'running'
      AND lease_expires_at < {now} - CAST(:grace AS {interval})
    LIMIT :most
) AS counted
