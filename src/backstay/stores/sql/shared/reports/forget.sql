-- Remove what was said of attempts that are settled.
DELETE FROM backstay.reports AS report
WHERE NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS job
    WHERE job.id = report.job_id
      AND job.lease_epoch = report.epoch
      AND job.state = 'running'
)
