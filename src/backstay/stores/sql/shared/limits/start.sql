-- Start jobs that may, at the very moment by which that was decided: a claim as any other, but by id.
-- The state is written so that no planner takes the index of available jobs for the way in.
UPDATE backstay.jobs AS job
{part start}
FROM {each job_id uuid, max_attempts smallint, timeout interval, lease interval, at timestamp} AS wanted
WHERE job.id = wanted.job_id
  AND job.state || '' = 'available'
RETURNING {part claim}
