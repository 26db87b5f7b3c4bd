-- Record success of one claim, if it still holds, as the last statement of its handler's transaction. Tells the
-- number of that transaction, by which its outcome can be asked for. Written without casts of one driver's, because
-- it runs on whichever the handler uses; tests hold the time.
-- Only the commit comes after it. If that does not come, because the link has died without a sign, the server ends the
-- session: the job's row must not stay locked, or nobody could take the job over.
UPDATE backstay.jobs AS job
{part completed},
    result = CAST(:value AS json)
FROM (SELECT COALESCE(CAST(:held AS timestamptz), clock_timestamp()) AS at) AS clock
WHERE job.id = CAST(:job_id AS uuid)
  AND job.lease_epoch = CAST(:epoch AS integer)
RETURNING
    job.id,
{part reacts},
    CAST(pg_current_xact_id() AS text) AS transaction_id,
    set_config('idle_in_transaction_session_timeout', CAST(:patience AS text), TRUE) AS patience
