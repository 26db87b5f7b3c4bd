-- A page of jobs, newest first, that have these promoted fields and fit every other filter given.
-- It comes in by a field's index, which is in the order of job ids: a page ends as soon as it is full.
SELECT
{part job_row}
FROM backstay.<<table>> AS side
JOIN backstay.jobs AS job ON job.id = side.job_id
LEFT JOIN backstay.progress AS progress ON progress.job_id = side.job_id
WHERE side.job_id < :before
-- for each field
  AND side."<<field>>" = :<<value>>
-- end
{part job_filters}
ORDER BY side.job_id DESC
LIMIT :limit
