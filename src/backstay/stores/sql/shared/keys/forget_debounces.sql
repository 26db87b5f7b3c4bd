-- Drop the keys of jobs that wait no longer.
DELETE FROM backstay.debounces
WHERE NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS job
    WHERE job.id = job_id
      AND job.state IN ('scheduled', 'held')
)
