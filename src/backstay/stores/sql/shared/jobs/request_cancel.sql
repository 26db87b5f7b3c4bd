-- Ask the worker that runs a job to stop it; the first request's reason stays.
-- By its id: a state beside one that does not exist offers the planner no index of all that run.
UPDATE backstay.jobs AS job
SET cancel_requested_at = COALESCE(job.cancel_requested_at, clock.at),
    cancel_reason = COALESCE(job.cancel_reason, given.why),
    updated_at = clock.at
FROM {each job_id uuid, why text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('running', '')
RETURNING id, tenant, worker
