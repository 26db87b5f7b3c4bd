-- Which claims were settled by their own holder, when the reply to the settlement may have been lost.
SELECT job.id, job.is_awaited
FROM {each job_id uuid, epoch int} AS given
JOIN windlass.jobs AS job
  ON job.id = given.job_id
 AND job.settled_epoch = given.epoch
