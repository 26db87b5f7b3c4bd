-- Forget what a job did not fit, when it begins anew with other arguments.
DELETE FROM backstay.misfits
WHERE job_id = :id
