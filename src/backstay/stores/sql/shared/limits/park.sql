-- Put jobs aside that may not start, with the limit that each waits for. One that was stored before its kind
-- went in order takes its place in the line now.
-- The state is written so that no planner takes the index of available jobs for the way in.
UPDATE backstay.jobs AS job
SET state = 'held',
    reason = given.why,
    parked_for = given.limit_key,
    order_key = COALESCE(job.order_key, given.line),
    updated_at = clock.at
FROM {each job_id uuid, limit_key text, why text, line text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state || '' = 'available'
RETURNING id
