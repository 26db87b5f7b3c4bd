-- Make due jobs available, a bounded batch at a time. The turn was fixed together with run_at.
WITH due AS MATERIALIZED (
    SELECT id AS job_id
    FROM backstay.jobs
    WHERE state = 'scheduled'
      AND run_at <= {now}
    ORDER BY run_at, id
    LIMIT :limit
    {skip_locked}
)
UPDATE backstay.jobs AS job
SET state = 'available',
    updated_at = clock.at
FROM due
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = due.job_id
RETURNING id, queue
