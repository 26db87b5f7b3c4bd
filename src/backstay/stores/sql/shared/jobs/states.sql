-- The state of each of some jobs.
SELECT job.id, job.state, job.tenant
FROM {each job_id uuid} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
