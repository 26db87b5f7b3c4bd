-- Move a waiting job to another time.
UPDATE backstay.jobs AS job
SET state = 'scheduled',
    run_at = given.next_run_at,
    turn = given.next_run_at + (job.turn - job.run_at),
    updated_at = clock.at
FROM {each job_id uuid, next_run_at timestamp} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'available')
RETURNING id, tenant, queue
