-- Forget what a job has done, when it begins anew with other arguments.
DELETE FROM backstay.steps
WHERE job_id = :id
