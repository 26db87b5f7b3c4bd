-- Forget which code a job did not fit, when it begins anew with other arguments.
DELETE FROM backstay.misfit_signatures
WHERE job_id = :id
