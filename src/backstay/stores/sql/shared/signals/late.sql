-- Waits whose time is over, with the rows of their jobs locked; what others have locked now is found the next time.
-- A job may have gone another way since: released by hand, cancelled, dead. Such a wait is only closed; a job that
-- comes to it once more opens it again, with the deadline that it had.
SELECT
    wait.job_id,
    wait.name,
    wait.number,
    job.state = 'held' AND job.reason = 'waiting for signal ' || wait.name AS is_waiting
FROM backstay.waits AS wait
JOIN backstay.jobs AS job
  ON job.id = wait.job_id
WHERE wait.is_open
  AND wait.times_out_at IS NOT NULL
  AND wait.times_out_at <= {now}
ORDER BY wait.times_out_at, wait.job_id
LIMIT :limit
{skip_locked}
