-- Cancel a job that has not started.
UPDATE backstay.jobs AS job
SET state = 'cancelled',
    reason = given.why,
    cancel_requested_at = COALESCE(job.cancel_requested_at, clock.at),
    cancel_reason = COALESCE(job.cancel_reason, given.why),
    finished_at = clock.at,
    updated_at = clock.at
FROM {each job_id uuid, why text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'held', 'available')
RETURNING
    id, tenant, is_awaited,
{part reacts}
