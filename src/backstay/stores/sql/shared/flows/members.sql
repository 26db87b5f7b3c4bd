-- The jobs of a flow in the order they were added.
SELECT job.id, job.kind, job.queue, job.state, job.reason, part.label, job.started_at, job.finished_at
FROM backstay.flow_jobs AS part
JOIN backstay.jobs AS job
  ON job.id = part.job_id
WHERE part.flow_id = :id
ORDER BY job.id
