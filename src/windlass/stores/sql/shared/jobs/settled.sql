-- Which claims were settled by their own holder, when the reply to the settlement may have been lost.
SELECT
    job.id,
    job.is_awaited,
    EXISTS (
        SELECT 1
        FROM windlass.dependencies AS open
        WHERE open.parent_id = job.id
          AND open.verdict IS NULL
    ) AS is_parent
FROM {each job_id uuid, epoch int} AS given
JOIN windlass.jobs AS job
  ON job.id = given.job_id
 AND job.settled_epoch = given.epoch
