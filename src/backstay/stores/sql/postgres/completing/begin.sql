-- Before the end of a job is written in its handler's transaction in several statements: the number of that transaction,
-- by which its outcome can be asked for. Should the next statement or the commit not come, because the link has died
-- without a sign, the server ends the session: the job's row must not stay locked, or nobody could take the job over.
SELECT
    CAST(pg_current_xact_id() AS text) AS transaction_id,
    set_config('idle_in_transaction_session_timeout', CAST(:patience AS text), TRUE) AS patience
