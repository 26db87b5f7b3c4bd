-- Keep how far the jobs whose claims still hold have come; what an earlier run tells late is not kept.
INSERT INTO backstay.progress AS kept (job_id, lease_epoch, current, total, message, updated_at)
SELECT job.id, given.epoch, given.current, given.total, given.message, {clock}
FROM {each job_id uuid, epoch int, current float8, total float8, message text} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
 AND job.lease_epoch = given.epoch
WHERE TRUE
ON CONFLICT (job_id) DO UPDATE
SET lease_epoch = excluded.lease_epoch,
    current = excluded.current,
    total = excluded.total,
    message = excluded.message,
    updated_at = excluded.updated_at
WHERE kept.lease_epoch <= excluded.lease_epoch
RETURNING job_id
