-- Every run of a job: those that did not complete it, and the one that did or is under way, which the job row tells.
SELECT
    ended.job_id, ended.lease_epoch, ended.attempt, ended.run, ended.status, ended.worker, ended.started_at,
    ended.finished_at, ended.duration_ms, ended.error, used.cpu_ms, used.peak_rss_mb
FROM backstay.attempts AS ended
LEFT JOIN backstay.measures AS used
  ON used.job_id = ended.job_id
 AND used.lease_epoch = ended.lease_epoch
WHERE ended.job_id = :id
UNION ALL
SELECT
    job.id, job.settled_epoch, job.attempt, job.run, 'completed', job.worker, job.started_at, job.finished_at,
    job.duration_ms, NULL, used.cpu_ms, used.peak_rss_mb
FROM backstay.jobs AS job
LEFT JOIN backstay.measures AS used
  ON used.job_id = job.id
 AND used.lease_epoch = job.settled_epoch
WHERE job.id = :id
  AND job.state = 'completed'
UNION ALL
SELECT
    job.id, job.lease_epoch, job.attempt, job.run, 'started', job.worker, job.started_at, NULL, NULL, NULL, NULL, NULL
FROM backstay.jobs AS job
WHERE job.id = :id
  AND job.state = 'running'
ORDER BY 2
