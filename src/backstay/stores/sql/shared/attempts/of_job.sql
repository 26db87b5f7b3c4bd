-- Every finished attempt of a job that did not complete it, in order, with what it used where that was measured.
SELECT
    ended.job_id, ended.lease_epoch, ended.attempt, ended.run, ended.status, ended.worker, ended.started_at,
    ended.finished_at, ended.duration_ms, ended.error, used.cpu_ms, used.peak_rss_mb
FROM backstay.attempts AS ended
LEFT JOIN backstay.measures AS used
  ON used.job_id = ended.job_id
 AND used.lease_epoch = ended.lease_epoch
WHERE ended.job_id = :id
ORDER BY ended.lease_epoch
