-- Give a dead job a fresh budget of attempts, now or later; the fence and the history go on.
UPDATE backstay.jobs AS job
SET state = CASE WHEN given.delay > given.no_delay THEN 'scheduled' ELSE 'available' END,
    reason = NULL,
    args = COALESCE(given.new_args, job.args),
    attempt = 0,
    crashes = 0,
    crashes_in_row = 0,
    is_suspect = FALSE,
    run_at = clock.at + given.delay,
    turn = clock.at + given.delay + (job.turn - job.run_at),
    finished_at = NULL,
    worker = NULL,
    cancel_requested_at = NULL,
    cancel_reason = NULL,
    deadline = CASE WHEN job.deadline > clock.at THEN job.deadline END,
    updated_at = clock.at
FROM {each job_id uuid, delay interval, no_delay interval, new_args json} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state = 'dead'
RETURNING id, tenant, queue
