-- Record success of one claim, if it still holds, as the last statement of its handler's transaction.
UPDATE windlass.jobs
SET state = 'completed',
    result = :value,
    error = NULL,
    lease_epoch = lease_epoch + 1,
    settled_epoch = lease_epoch,
    settled_by = worker,
    lease_expires_at = NULL,
    heartbeat_at = NULL,
    claim_id = NULL,
    is_suspect = FALSE,
    finished_at = :held,
    updated_at = :held,
    duration_ms = {milliseconds :held - started_at}
WHERE id = :job_id
  AND lease_epoch = :epoch
RETURNING id, NULL AS transaction_id
