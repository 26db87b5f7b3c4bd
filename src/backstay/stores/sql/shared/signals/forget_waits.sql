-- Forget what a job has waited for, when it begins anew with other arguments.
DELETE FROM backstay.waits
WHERE job_id = :id
