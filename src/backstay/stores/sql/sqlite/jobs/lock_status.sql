-- Say of each claim whether it is still held; with one writer no row is ever locked by another.
SELECT
    given.job_id AS id,
    COALESCE(job.lease_epoch = given.epoch, FALSE) AS is_held,
    FALSE AS is_locked
FROM {each job_id uuid, epoch int} AS given
LEFT JOIN backstay.jobs AS job
  ON job.id = given.job_id
