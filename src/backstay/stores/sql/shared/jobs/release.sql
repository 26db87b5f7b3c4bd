-- Let a held job go on: at once if it is due, otherwise at its time.
-- By its id: a state beside one that does not exist offers the planner no index of all that are held.
UPDATE backstay.jobs AS job
SET state = CASE WHEN job.run_at <= clock.at THEN 'available' ELSE 'scheduled' END,
    reason = NULL,
    parked_for = NULL,
    updated_at = clock.at
FROM {each job_id uuid} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('held', '')
RETURNING id, tenant, queue, state
