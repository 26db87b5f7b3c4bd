-- Let jobs that are tried again wait in another queue. One that is no lane of the job's profile for its kind changes
-- nothing: an attempt that has ended must be settled, and the job runs again where it was.
UPDATE backstay.jobs AS job
SET queue = given.queue
FROM {each job_id uuid, queue text, kind text} AS given
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'available')
  AND (
    job.profile IS NULL
    OR NOT EXISTS (SELECT 1 FROM backstay.lanes AS any_lane WHERE any_lane.profile = job.profile)
    OR EXISTS (
        SELECT 1
        FROM backstay.lanes AS lane
        WHERE lane.profile = job.profile
          AND lane.name = given.queue
          AND (lane.kinds IS NULL OR {has_tag lane.kinds given.kind})
    )
  )
RETURNING id
