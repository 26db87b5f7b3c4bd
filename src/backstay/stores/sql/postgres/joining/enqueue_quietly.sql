-- Store checked jobs as `joining/enqueue` does, without announcing them inside the transaction: the client is told of
-- the commit and does it then, because a notification in every transaction makes commits wait for one another.
-- The setting is put back in the same statement, after the function has returned all its rows.
SELECT
    stored.job_id,
    stored.is_new,
    set_config('backstay.notify', COALESCE(quiet.before, ''), TRUE) AS restored
FROM (
    SELECT
        current_setting('backstay.notify', TRUE) AS before,
        set_config('backstay.notify', 'off', TRUE) AS now
    OFFSET 0
) AS quiet
CROSS JOIN LATERAL backstay.enqueue_checked(
    CASE quiet.now WHEN 'off' THEN CAST(CAST(:jobs AS text) AS jsonb) END
) AS stored
