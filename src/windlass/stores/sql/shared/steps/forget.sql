-- Forget what a job has done, when it begins anew with other arguments.
DELETE FROM windlass.steps
WHERE job_id = :id
