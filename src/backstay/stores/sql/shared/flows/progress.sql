-- How many jobs of some flows are in which state.
SELECT part.flow_id, job.state, count(*) AS jobs
FROM backstay.flow_jobs AS part
JOIN backstay.jobs AS job
  ON job.id = part.job_id
WHERE {any_of part.flow_id :ids uuid}
GROUP BY part.flow_id, job.state
ORDER BY part.flow_id, job.state
