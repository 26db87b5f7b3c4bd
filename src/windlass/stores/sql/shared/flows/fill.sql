-- Give a held job the arguments that its parents' results make complete.
UPDATE windlass.jobs AS job
SET args = CAST(given.new_args AS {json})
FROM {each job_id uuid, new_args text} AS given
WHERE job.id = given.job_id
  AND job.state = 'held'
