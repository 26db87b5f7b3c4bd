-- Count the job that takes another's place as part of the same flow.
INSERT INTO backstay.flow_jobs (job_id, flow_id, label)
SELECT CAST(:new_id AS {uuid}), flow_id, label
FROM backstay.flow_jobs
WHERE job_id = :id
