-- Give a job that waits for its time other arguments and a later time, but not beyond what it may wait in all.
-- One that has become available is left alone: it may be claimed at this moment.
UPDATE backstay.jobs AS job
SET args = given.args,
    run_at = {least}(clock.at + given.delay, job.created_at + given.longest),
    turn = {least}(clock.at + given.delay, job.created_at + given.longest) + (job.turn - job.run_at),
    updated_at = clock.at
FROM {each job_id uuid, args json, delay interval, longest interval} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'held')
  AND job.run = 0
RETURNING id
