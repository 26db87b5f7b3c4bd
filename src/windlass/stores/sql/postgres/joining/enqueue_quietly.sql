-- Store checked jobs as `joining/enqueue` does, without announcing them inside the transaction: the client is told of
-- the commit and does it then, because a notification in every transaction makes commits wait for one another.
-- The setting is put back in the same statement, after the function has returned all its rows.
SELECT
    stored.job_id,
    stored.is_new,
    set_config('windlass.notify', COALESCE(quiet.before, ''), TRUE) AS restored
FROM (
    SELECT
        current_setting('windlass.notify', TRUE) AS before,
        set_config('windlass.notify', 'off', TRUE) AS now
    OFFSET 0
) AS quiet
CROSS JOIN LATERAL windlass.enqueue_checked(
    CASE quiet.now WHEN 'off' THEN CAST(CAST(:jobs AS text) AS jsonb) END
) AS stored
