-- Remember finished steps of the claims that still hold. The row of each job is shared while that is looked up, so
-- that nobody can take the job over between the look and the insert. Sent again, it changes nothing.
WITH held AS (
    SELECT
        job.id, job.attempt, job.run, job.worker, given.epoch, given.step, given.place, given.value, given.took
    FROM {each job_id uuid, epoch int, step text, place int, value json, took bigint} AS given
    JOIN backstay.jobs AS job
      ON job.id = given.job_id
     AND job.lease_epoch = given.epoch
    {share job}
)
INSERT INTO backstay.steps AS step
    (job_id, name, position, lease_epoch, attempt, run, worker, result, duration_ms, finished_at)
SELECT
    held.id, held.step, held.place, held.epoch, held.attempt, held.run, held.worker, held.value, held.took, {clock}
FROM held
WHERE TRUE
ON CONFLICT (job_id, name) DO UPDATE
SET position = excluded.position,
    lease_epoch = excluded.lease_epoch,
    attempt = excluded.attempt,
    run = excluded.run,
    worker = excluded.worker,
    result = excluded.result,
    duration_ms = excluded.duration_ms,
    finished_at = excluded.finished_at
RETURNING job_id, name
