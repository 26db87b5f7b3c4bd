-- What still keeps each of some held jobs: an open dependency, or one that failed and holds it.
-- It comes in by the job: `verdict IS NULL` would invite the planner to read all open dependencies instead.
SELECT
    job.id,
    job.reason,
    EXISTS (
        SELECT 1
        FROM backstay.dependencies AS open
        WHERE open.job_id = job.id
          AND COALESCE(open.verdict, '') = ''
    ) AS is_waiting,
    EXISTS (
        SELECT 1
        FROM backstay.dependencies AS failed
        WHERE failed.job_id = job.id
          AND failed.verdict = 'hold'
    ) AS is_kept
FROM backstay.jobs AS job
WHERE {any_of job.id :ids uuid}
ORDER BY job.id
