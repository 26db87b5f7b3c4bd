-- Give a held job the arguments that its parents' results make complete.
-- By its id: a state beside one that does not exist offers the planner no index of all that are held.
UPDATE backstay.jobs AS job
SET args = CAST(given.new_args AS {json})
FROM {each job_id uuid, new_args text} AS given
WHERE job.id = given.job_id
  AND job.state IN ('held', '')
