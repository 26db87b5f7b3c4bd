-- Count the job that takes another's place as part of the same flow.
INSERT INTO windlass.flow_jobs (job_id, flow_id, label)
SELECT CAST(:new_id AS {uuid}), flow_id, label
FROM windlass.flow_jobs
WHERE job_id = :id
