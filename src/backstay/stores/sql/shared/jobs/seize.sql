-- Take claims over with a short lease of our own: the old holder is fenced, and another rescuer goes on should this
-- one die before settling. Two epochs: one for leaving the old claim, one for entering the new.
-- The worker's name stays, because the attempt was its.
UPDATE backstay.jobs AS job
SET lease_epoch = job.lease_epoch + 2,
    lease_expires_at = clock.at + given.hold_for,
    heartbeat_at = clock.at,
    claim_id = NULL,
    updated_at = clock.at
FROM {each job_id uuid, epoch int, hold_for interval} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.lease_epoch = given.epoch
RETURNING {part held}
