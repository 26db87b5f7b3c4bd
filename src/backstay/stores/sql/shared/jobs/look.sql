-- What there is to do for maintenance now, and when the next scheduled job is due; every part reads a partial index.
-- One row is asked for in the order of that index: an EXISTS can be turned into a join, and where many rows would do
-- into a walk over the table, at whose beginning none of them may stand.
SELECT
    {part next_times},
    (
        SELECT 1
        FROM backstay.jobs
        WHERE state = 'running'
          AND (
            lease_expires_at < {now}
            OR started_at + timeout + CAST(:overrun AS {interval}) < {now}
            OR deadline + CAST(:overrun AS {interval}) < {now}
        )
        ORDER BY worker, id
        LIMIT 1
    ) IS NOT NULL AS has_expired,
    (
        SELECT 1
        FROM backstay.jobs
        WHERE state IN ('scheduled', 'held', 'available')
          AND expires_at IS NOT NULL
          AND expires_at <= {now}
          AND run = 0
        ORDER BY expires_at
        LIMIT 1
    ) IS NOT NULL AS has_unstarted,
    (
        SELECT 1
        FROM backstay.jobs
        WHERE state IN ('scheduled', 'held', 'available')
          AND deadline IS NOT NULL
          AND deadline <= {now}
        ORDER BY deadline
        LIMIT 1
    ) IS NOT NULL AS has_late,
    (
        SELECT 1
        FROM backstay.dependencies
        WHERE verdict IS NULL
        ORDER BY parent_id, job_id
        LIMIT 1
    ) IS NOT NULL AS has_waiting_children,
    (
        SELECT 1
        FROM backstay.jobs
        WHERE state = 'held'
          AND parked_for IS NOT NULL
        ORDER BY parked_for, turn, id
        LIMIT 1
    ) IS NOT NULL
    OR EXISTS (
        SELECT 1
        FROM backstay.permits AS permit
        WHERE NOT EXISTS (
            SELECT 1
            FROM backstay.jobs AS job
            WHERE job.id = permit.job_id
              AND job.lease_epoch = permit.lease_epoch
        )
    ) AS has_parked,
    (
        SELECT next_at
        FROM backstay.limits
        WHERE next_at IS NOT NULL
        ORDER BY next_at
        LIMIT 1
    ) AS next_token_at,
    (
        SELECT 1
        FROM backstay.reports
        ORDER BY job_id
        LIMIT 1
    ) IS NOT NULL AS has_reports,
    (
        SELECT 1
        FROM backstay.misfits
        WHERE is_open
        ORDER BY again_at, job_id
        LIMIT 1
    ) IS NOT NULL AS has_misfits,
    (
        SELECT 1
        FROM backstay.operations
        WHERE status = 'running'
        ORDER BY next_at
        LIMIT 1
    ) IS NOT NULL AS has_operations,
    EXISTS (SELECT 1 FROM backstay.webhooks WHERE is_enabled) AS has_webhooks,
    COALESCE((SELECT max(id) FROM backstay.audit), 0)
    > COALESCE((SELECT max(audit_id) FROM backstay.audit_chain), 0) AS has_unchained,
    EXISTS (
        SELECT 1
        FROM backstay.tenant_pauses AS pause
        WHERE (pause.ends_at IS NULL OR pause.ends_at > {now})
          AND (
            SELECT 1
            FROM backstay.jobs AS job
            WHERE job.tenant = pause.tenant
              AND job.tenant <> ''
              AND job.state IN ('scheduled', 'held', 'available')
              AND job.state IN ('available', 'scheduled')
            LIMIT 1
        ) = 1
    ) AS has_paused,
    (
        SELECT min(heartbeat_at)
        FROM backstay.workers
        WHERE state IN ('alive', 'stopping')
    ) AS quietest_at,
    {started} AS started_at,
    {now} AS now
