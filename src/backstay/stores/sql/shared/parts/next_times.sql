-- When something is due by itself: the next scheduled job, the end of a wait for a signal, the end of a pause.
    (
        SELECT run_at
        FROM backstay.jobs
        WHERE state = 'scheduled'
        ORDER BY run_at, id
        LIMIT 1
    ) AS next_run_at,
    (
        SELECT times_out_at
        FROM backstay.waits
        WHERE is_open
          AND times_out_at IS NOT NULL
        ORDER BY times_out_at, job_id
        LIMIT 1
    ) AS next_timeout_at,
    (
        SELECT min(ends_at)
        FROM (
            SELECT ends_at
            FROM backstay.pauses
            UNION ALL
            SELECT ends_at
            FROM backstay.tenant_pauses
        ) AS pause
    ) AS next_resume_at
