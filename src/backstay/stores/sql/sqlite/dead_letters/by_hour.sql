-- How many open dead letters each cause has from each hour since a time, counted over the newest ones up to a limit.
WITH newest AS MATERIALIZED (
    SELECT fingerprint, died_at
    FROM backstay.dead_letters
    WHERE status IN ('new', 'investigating')
      AND died_at >= :since
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY died_at DESC, job_id DESC
    LIMIT :limit
)
SELECT fingerprint, died_at - died_at % 3600000000 AS at, count(*) AS letters
FROM newest
GROUP BY fingerprint, at
ORDER BY fingerprint, at
