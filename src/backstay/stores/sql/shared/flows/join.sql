-- Count jobs as part of a flow.
INSERT INTO backstay.flow_jobs (job_id, flow_id, label)
SELECT given.job_id, given.flow_id, given.label
FROM {each job_id uuid, flow_id uuid, label text} AS given
WHERE TRUE
ON CONFLICT DO NOTHING
