-- Extend every lease that is still held, and tell which jobs somebody wants stopped.
UPDATE backstay.jobs AS job
SET lease_expires_at = clock.at + job.lease,
    heartbeat_at = clock.at,
    updated_at = clock.at
FROM {each job_id uuid, epoch int} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.lease_epoch = given.epoch
RETURNING id, cancel_requested_at, cancel_reason
