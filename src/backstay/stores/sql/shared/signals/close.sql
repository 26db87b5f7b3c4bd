-- A job no longer waits for this.
UPDATE backstay.waits AS wait
SET is_open = FALSE
FROM {each job_id uuid, signal text} AS given
WHERE wait.job_id = given.job_id
  AND wait.name = given.signal
  AND wait.is_open
