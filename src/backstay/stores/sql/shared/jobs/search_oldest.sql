-- A page of jobs, oldest first, that fit every filter given; a NULL filter lets everything through.
-- plan anew
SELECT
{part job_row}
FROM backstay.jobs AS job
LEFT JOIN backstay.progress AS progress
  ON progress.job_id = job.id
WHERE (CAST(:before AS {uuid}) IS NULL OR job.id > :before)
{part job_filters}
ORDER BY job.id
LIMIT :limit
