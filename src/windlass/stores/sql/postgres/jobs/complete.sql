-- Record success for every claim that still holds. (id, epoch) is the whole guard: naming the state would invite
-- the planner to come in through the index of running rows.
-- Who was completed is known from the number alone when it is everybody; only those that are awaited, or that others
-- wait for, are named. Where nobody waits for any job, that is asked once for all of them.
WITH done AS (
    UPDATE windlass.jobs AS job
    SET state = 'completed',
        result = given.value,
        error = NULL,
        lease_epoch = job.lease_epoch + 1,
        settled_epoch = given.epoch,
        settled_by = job.worker,
        lease_expires_at = NULL,
        heartbeat_at = NULL,
        claim_id = NULL,
        is_suspect = FALSE,
        finished_at = clock.at,
        updated_at = clock.at,
        duration_ms = {greatest}({milliseconds clock.at - job.started_at}, 0)
    FROM {each job_id uuid, epoch int, value json} AS given
    CROSS JOIN (SELECT {clock} AS at) AS clock
    WHERE job.id = given.job_id
      AND job.lease_epoch = given.epoch
    RETURNING job.id, job.is_awaited
)
SELECT
    count(*) AS number,
    CASE WHEN is_awaited THEN id END AS awaited,
    CASE
        WHEN (SELECT TRUE FROM windlass.dependencies WHERE verdict IS NULL LIMIT 1) THEN (
            SELECT open.parent_id
            FROM windlass.dependencies AS open
            WHERE open.parent_id = done.id
              AND open.verdict IS NULL
            LIMIT 1
        )
    END AS parent
FROM done
GROUP BY awaited, parent
