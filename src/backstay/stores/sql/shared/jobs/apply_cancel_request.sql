-- Cancel instead of trying again, where that was asked for while the attempt ran.
-- A statement of its own, after the settlement: only then is a request seen that was committed in between.
UPDATE backstay.jobs AS job
SET state = 'cancelled',
    reason = COALESCE(job.cancel_reason, 'cancel requested'),
    finished_at = job.updated_at
FROM {each job_id uuid} AS given
WHERE job.id = given.job_id
  AND job.cancel_requested_at IS NOT NULL
  AND job.state IN ('scheduled', 'held', 'available')
RETURNING
    id,
{part reacts}
