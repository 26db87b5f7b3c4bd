-- These jobs are no longer held for their arguments; how often they were refused is kept.
UPDATE backstay.misfits AS misfit
SET is_open = FALSE
FROM {each job_id uuid} AS given
WHERE misfit.job_id = given.job_id
