-- Say anew why a job is held.
-- By its id: a state beside one that does not exist offers the planner no index of all that are held.
UPDATE backstay.jobs AS job
SET reason = given.why,
    updated_at = clock.at
FROM {each job_id uuid, why text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('held', '')
