-- Keep a finished attempt that did not complete its job, as the job row still tells it. Where the clock was set back
-- meanwhile, it ended the moment it began.
INSERT INTO backstay.attempts (
    job_id, lease_epoch, attempt, run, status, worker, started_at, finished_at, duration_ms, error
)
SELECT
    job.id, given.epoch, job.attempt + given.refund, job.run, given.status, job.settled_by, job.started_at,
    {greatest}(job.updated_at, job.started_at), job.duration_ms, given.failure
FROM {each job_id uuid, epoch int, refund smallint, status text, failure json} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
 AND job.settled_epoch = given.epoch
WHERE TRUE
ON CONFLICT (job_id, lease_epoch) DO NOTHING
