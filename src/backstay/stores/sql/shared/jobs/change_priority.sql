-- Give a waiting job another place in the line: what it waited already still counts.
UPDATE backstay.jobs AS job
SET priority = given.next_priority,
    turn = job.run_at + given.turn_offset,
    updated_at = clock.at
FROM {each job_id uuid, next_priority smallint, turn_offset interval} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'held', 'available')
RETURNING id, tenant, queue, state
