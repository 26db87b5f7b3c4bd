-- One job, whole.
SELECT
{part job_row}
FROM backstay.jobs AS job
LEFT JOIN backstay.progress AS progress
  ON progress.job_id = job.id
WHERE job.id = :id
