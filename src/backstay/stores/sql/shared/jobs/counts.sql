-- How many jobs of each queue and kind are in each state, of one tenant or of all, counted up to a limit: those that
-- have not ended or are dead by the partial index of their state, others among the newest jobs. So it reads no more
-- rows than that, however many there are.
WITH newest AS (
    SELECT queue, kind, state, tenant, run_at
    FROM backstay.jobs
    ORDER BY id DESC
    LIMIT :most
),
scheduled AS (
    SELECT queue, kind, state, tenant, run_at
    FROM backstay.jobs
    WHERE state = 'scheduled'
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY run_at, id
    LIMIT :most
),
held AS (
    SELECT queue, kind, state, tenant, run_at
    FROM backstay.jobs
    WHERE state = 'held'
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY reason, id
    LIMIT :most
),
available AS (
    SELECT queue, kind, state, tenant, run_at
    FROM backstay.jobs
    WHERE state = 'available'
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY queue, kind
    LIMIT :most
),
running AS (
    SELECT queue, kind, state, tenant, run_at
    FROM backstay.jobs
    WHERE state = 'running'
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY worker
    LIMIT :most
),
dead AS (
    SELECT queue, kind, state, tenant, run_at
    FROM backstay.jobs
    WHERE state = 'dead'
      AND (CAST(:tenant AS text) IS NULL OR tenant = :tenant)
    ORDER BY finished_at, id
    LIMIT :most
),
counted AS (
    SELECT queue, kind, state, tenant, run_at FROM scheduled
    UNION ALL
    SELECT queue, kind, state, tenant, run_at FROM held
    UNION ALL
    SELECT queue, kind, state, tenant, run_at FROM available
    UNION ALL
    SELECT queue, kind, state, tenant, run_at FROM running
    UNION ALL
    SELECT queue, kind, state, tenant, run_at FROM dead
    UNION ALL
    SELECT queue, kind, state, tenant, run_at
    FROM newest
    WHERE state IN ('completed', 'resolved', 'cancelled')
),
totals AS (
    SELECT state, count(*) AS jobs
    FROM counted
    GROUP BY state
)
SELECT
    counted.queue,
    counted.kind,
    counted.state,
    count(*) AS jobs,
    min(counted.run_at) AS oldest_run_at,
    CASE
        WHEN counted.state IN ('completed', 'resolved', 'cancelled') THEN (SELECT count(*) FROM newest)
        ELSE min(totals.jobs)
    END >= :most AS is_capped
FROM counted
JOIN totals
  ON totals.state = counted.state
WHERE CAST(:tenant AS text) IS NULL
   OR counted.tenant = :tenant
GROUP BY counted.queue, counted.kind, counted.state
ORDER BY counted.queue, counted.kind, counted.state
