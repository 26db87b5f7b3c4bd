-- Which claims were settled by their own holder, when the reply to the settlement may have been lost. Where the job has
-- gone on since, the attempt is remembered under its epoch.
SELECT
    job.id,
    job.is_awaited,
    EXISTS (
        SELECT 1
        FROM backstay.dependencies AS open
        WHERE open.parent_id = job.id
          AND open.verdict IS NULL
    ) AS is_parent
FROM {each job_id uuid, epoch int} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
 AND (
    job.settled_epoch = given.epoch
    OR EXISTS (
        SELECT 1
        FROM backstay.attempts AS past
        WHERE past.job_id = given.job_id
          AND past.lease_epoch = given.epoch
    )
 )
