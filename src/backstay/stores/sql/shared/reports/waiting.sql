-- Attempts that were worked from SQL and have ended, the first ones first.
SELECT
    report.outcome,
{part held}
FROM backstay.reports AS report
JOIN backstay.jobs AS job
  ON job.id = report.job_id
 AND job.lease_epoch = report.epoch
WHERE job.state = 'running'
ORDER BY report.reported_at, report.job_id
LIMIT :limit
