-- What became of the fires of a schedule, newest first. While its job is there, that tells; afterwards, what was kept.
SELECT
    schedule.name AS schedule, schedule.kind AS kind, fire.fire_time, fire.reference_time, fire.trigger_source,
    fire.status, fire.job_id, fire.reason, fire.missed, fire.created_by,
    COALESCE(job.state, fire.state) AS state,
    COALESCE(job.started_at, fire.started_at) AS started_at,
    COALESCE(job.finished_at, fire.finished_at) AS finished_at,
    COALESCE(job.duration_ms, fire.duration_ms) AS duration_ms,
    COALESCE(job.attempt, fire.attempt) AS attempt,
    COALESCE(job.worker, job.settled_by, fire.worker) AS worker,
    COALESCE(job.result, fire.result) AS result,
    COALESCE(job.error, fire.error) AS error,
    job.reason AS job_reason,
    progress.current AS progress
FROM backstay.fires AS fire
JOIN backstay.schedules AS schedule
  ON schedule.id = fire.schedule_id
LEFT JOIN backstay.jobs AS job
  ON job.id = fire.job_id
LEFT JOIN backstay.progress AS progress
  ON progress.job_id = fire.job_id
WHERE schedule.tenant = :tenant
  AND schedule.name = :name
  AND (CAST(:before AS {timestamp}) IS NULL OR fire.fire_time < :before)
ORDER BY fire.fire_time DESC
LIMIT :limit
