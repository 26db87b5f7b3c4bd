-- How many jobs of each kind are held because their arguments did not fit a worker's code, counted up to a limit.
SELECT kind, count(*) AS jobs
FROM (
    SELECT kind
    FROM backstay.misfits
    WHERE is_open
    ORDER BY again_at, job_id
    LIMIT :most
) AS counted
GROUP BY kind
ORDER BY kind
