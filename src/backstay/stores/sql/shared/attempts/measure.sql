-- Keep what attempts have used, as long as their jobs are kept; measured twice, the first time counts.
INSERT INTO backstay.measures (job_id, lease_epoch, cpu_ms, peak_rss_mb)
SELECT job.id, given.epoch, given.cpu_used, given.peak
FROM {each job_id uuid, epoch int, cpu_used bigint, peak int} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
WHERE TRUE
ON CONFLICT (job_id, lease_epoch) DO NOTHING
