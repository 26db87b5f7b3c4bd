-- What a completion does to a job, besides its result.
SET state = 'completed',
    error = NULL,
    lease_epoch = job.lease_epoch + 1,
    settled_epoch = job.lease_epoch,
    settled_by = job.worker,
    lease_expires_at = NULL,
    heartbeat_at = NULL,
    claim_id = NULL,
    is_suspect = FALSE,
    crashes_in_row = 0,
    finished_at = clock.at,
    updated_at = clock.at,
    duration_ms = {greatest}({milliseconds clock.at - job.started_at}, 0)
