-- Keep of jobs that are about to be removed what the history of their schedules shows.
UPDATE backstay.fires AS fire
SET state = job.state,
    started_at = job.started_at,
    finished_at = job.finished_at,
    duration_ms = job.duration_ms,
    attempt = job.attempt,
    worker = COALESCE(job.worker, job.settled_by),
    result = job.result,
    error = job.error,
    is_open = FALSE
FROM backstay.jobs AS job
WHERE {any_of fire.job_id :ids uuid}
  AND job.id = fire.job_id
  AND job.finished_at < :finished_before
RETURNING job_id
