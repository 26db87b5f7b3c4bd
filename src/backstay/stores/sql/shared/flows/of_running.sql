-- Whether a claim still holds its job, and which flow that job belongs to.
SELECT job.tenant, job.lease_epoch, part.flow_id, flow.callback_id
FROM backstay.jobs AS job
LEFT JOIN backstay.flow_jobs AS part
  ON part.job_id = job.id
LEFT JOIN backstay.flows AS flow
  ON flow.id = part.flow_id
WHERE job.id = :id
