-- Forget what a job has received, when it begins anew with other arguments: what was approved was something else.
DELETE FROM backstay.signals
WHERE job_id = :id
