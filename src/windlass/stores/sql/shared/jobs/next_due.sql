-- When the next scheduled job is due, when the next wait for a signal runs out, and the database's time now.
SELECT
    (
        SELECT run_at
        FROM windlass.jobs
        WHERE state = 'scheduled'
        ORDER BY run_at, id
        LIMIT 1
    ) AS next_run_at,
    (
        SELECT times_out_at
        FROM windlass.waits
        WHERE is_open
          AND times_out_at IS NOT NULL
        ORDER BY times_out_at, job_id
        LIMIT 1
    ) AS next_timeout_at,
    (
        SELECT min(ends_at)
        FROM (
            SELECT ends_at
            FROM windlass.pauses
            UNION ALL
            SELECT ends_at
            FROM windlass.tenant_pauses
        ) AS pause
    ) AS next_resume_at,
    {now} AS now
