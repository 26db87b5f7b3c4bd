-- How often jobs have been refused before, at which attempt, and whether they were given up for it since. The caller
-- has their rows locked.
SELECT misfit.job_id, misfit.attempt, misfit.times, misfit.gives_up_at <= {now} AS is_over
FROM {each job_id uuid} AS given
JOIN backstay.misfits AS misfit
  ON misfit.job_id = given.job_id
