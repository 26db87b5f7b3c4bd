-- Record any outcome but success for every claim that still holds.
-- The turn keeps its distance from run_at: that distance is the job's priority.
UPDATE backstay.jobs AS job
SET state = given.next_state,
    reason = given.next_reason,
    error = COALESCE(given.failure, job.error),
    attempt = job.attempt - given.refund,
    max_attempts = COALESCE(given.attempts_allowed, job.max_attempts),
    own_timeout = COALESCE(given.next_timeout, job.own_timeout),
    crashes = job.crashes + given.more_crashes,
    crashes_in_row = CASE given.in_row
        WHEN 1 THEN job.crashes_in_row + 1
        WHEN 0 THEN job.crashes_in_row
        ELSE 0
    END,
    is_suspect = given.suspected,
    lease_epoch = job.lease_epoch + 1,
    settled_epoch = given.epoch,
    settled_by = job.worker,
    worker = CASE WHEN given.is_end THEN job.worker END,
    lease_expires_at = NULL,
    heartbeat_at = NULL,
    claim_id = NULL,
    first_due_at = COALESCE(job.first_due_at, job.run_at),
    run_at = COALESCE(clock.at + given.run_in, job.run_at),
    turn = COALESCE(clock.at + given.run_in, job.run_at) + (job.turn - job.run_at),
    finished_at = CASE WHEN given.is_end THEN clock.at END,
    updated_at = clock.at,
    duration_ms = {greatest}({milliseconds clock.at - job.started_at}, 0)
FROM {each
    job_id uuid, epoch int, next_state text, next_reason text, failure json, refund smallint, more_crashes smallint,
    suspected boolean, run_in interval, attempts_allowed smallint, next_timeout interval, in_row smallint, is_end boolean
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.lease_epoch = given.epoch
RETURNING
    id, is_awaited,
{part reacts}
