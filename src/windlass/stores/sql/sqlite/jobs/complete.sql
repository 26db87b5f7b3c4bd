-- Record success for every claim that still holds; who is awaited, or is waited for by other jobs, is named.
UPDATE windlass.jobs
SET state = 'completed',
    result = given.value,
    error = NULL,
    lease_epoch = lease_epoch + 1,
    settled_epoch = given.epoch,
    settled_by = worker,
    lease_expires_at = NULL,
    heartbeat_at = NULL,
    claim_id = NULL,
    is_suspect = FALSE,
    finished_at = {clock},
    updated_at = {clock},
    duration_ms = {greatest}({milliseconds {clock} - started_at}, 0)
FROM {each job_id uuid, epoch int, value json} AS given
WHERE id = given.job_id
  AND lease_epoch = given.epoch
RETURNING
    1 AS number,
    CASE WHEN is_awaited THEN id END AS awaited,
    (
        SELECT open.parent_id
        FROM windlass.dependencies AS open
        WHERE open.parent_id = id
          AND open.verdict IS NULL
        LIMIT 1
    ) AS parent
