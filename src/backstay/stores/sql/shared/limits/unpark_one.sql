-- Let one job be claimed that waits for its turn in an ordering key, if it still does.
-- By its id: state and limit are compared in ways that do not invite the planner to come in through all that wait.
UPDATE backstay.jobs AS job
SET state = 'available',
    reason = NULL,
    parked_for = NULL,
    updated_at = clock.at
FROM {each job_id uuid, limit_key text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('held', '')
  AND COALESCE(job.parked_for, '') = given.limit_key
RETURNING id, queue
