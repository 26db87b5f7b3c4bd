-- How many claims ran out so long ago that somebody should have taken them over.
SELECT count(*) AS jobs
FROM windlass.jobs
WHERE state = 'running'
  AND lease_expires_at < {now} - CAST(:grace AS {interval})
