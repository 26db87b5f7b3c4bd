-- Take a lock that is free, has run out, or is held by an earlier attempt of the same job, which cannot settle any more, or by a job that has ended badly: one that a crash has ended could not give it back.
-- The fence rises with every holder, and stays when the same one asks again, whose answer may have been lost; counting on from the clock keeps it rising after an old row was removed.
INSERT INTO backstay.locks AS lock (tenant, id, holder, job_id, fence, locked_at, expires_at)
SELECT
    CAST(:tenant AS text), CAST(:id AS text), CAST(:holder AS text), CAST(:job_id AS {uuid}), {milliseconds clock.at}, clock.at, clock.at + CAST(:ttl AS {interval})
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (tenant, id) DO UPDATE
SET holder = excluded.holder,
    job_id = excluded.job_id,
    fence = CASE
        WHEN lock.holder = excluded.holder AND lock.expires_at > excluded.locked_at THEN lock.fence
        ELSE {greatest}(lock.fence + 1, excluded.fence)
    END,
    locked_at = excluded.locked_at,
    expires_at = excluded.expires_at
WHERE lock.expires_at <= excluded.locked_at
   OR lock.holder = excluded.holder
   OR lock.job_id = excluded.job_id
   OR EXISTS (
       SELECT 1
       FROM backstay.jobs AS ended
       WHERE ended.id = lock.job_id
         AND ended.state IN ('dead', 'resolved', 'cancelled')
   )
RETURNING id, tenant, holder, job_id, fence, locked_at, expires_at
