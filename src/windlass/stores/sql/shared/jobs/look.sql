-- What there is to do for maintenance now, and when the next scheduled job is due; every part reads a partial index.
SELECT
    (
        SELECT run_at
        FROM windlass.jobs
        WHERE state = 'scheduled'
        ORDER BY run_at, id
        LIMIT 1
    ) AS next_run_at,
    EXISTS (
        SELECT 1
        FROM windlass.jobs
        WHERE state = 'running'
          AND (
            lease_expires_at < {now}
            OR started_at + timeout + CAST(:overrun AS {interval}) < {now}
            OR deadline + CAST(:overrun AS {interval}) < {now}
        )
    ) AS has_expired,
    EXISTS (
        SELECT 1
        FROM windlass.jobs
        WHERE state IN ('scheduled', 'held', 'available')
          AND expires_at IS NOT NULL
          AND expires_at <= {now}
          AND run = 0
    ) AS has_unstarted,
    EXISTS (
        SELECT 1
        FROM windlass.jobs
        WHERE state IN ('scheduled', 'held', 'available')
          AND deadline IS NOT NULL
          AND deadline <= {now}
    ) AS has_late,
    {started} AS started_at,
    {now} AS now
