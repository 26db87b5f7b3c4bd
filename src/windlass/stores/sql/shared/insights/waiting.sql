-- How many jobs of each queue and kind could run now, and since when the first of them could.
-- Each part reads the partial index of its rows; ordinary and suspect jobs have one each.
WITH waiting AS (
    SELECT queue, kind, run_at
    FROM windlass.jobs
    WHERE state = 'available'
      AND NOT is_suspect
    UNION ALL
    SELECT queue, kind, run_at
    FROM windlass.jobs
    WHERE state = 'available'
      AND is_suspect
    UNION ALL
    SELECT queue, kind, run_at
    FROM windlass.jobs
    WHERE state = 'scheduled'
      AND run_at <= {now}
)
SELECT queue, kind, count(*) AS jobs, min(run_at) AS oldest_run_at, {now} AS now
FROM waiting
GROUP BY queue, kind
ORDER BY queue, kind
