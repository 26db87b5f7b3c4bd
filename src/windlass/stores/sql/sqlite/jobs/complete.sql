-- Record success of one claim, if it still holds.
-- The same as for both databases, without the join: this runs once for every job.
UPDATE windlass.jobs
SET state = 'completed',
    result = :value,
    error = NULL,
    lease_epoch = lease_epoch + 1,
    settled_epoch = :epoch,
    settled_by = worker,
    lease_expires_at = NULL,
    heartbeat_at = NULL,
    claim_id = NULL,
    is_suspect = FALSE,
    finished_at = {clock},
    updated_at = {clock},
    duration_ms = {greatest}({milliseconds {clock} - started_at}, 0)
WHERE id = :job_id
  AND lease_epoch = :epoch
RETURNING 1 AS number, CASE WHEN is_awaited THEN id END AS awaited
