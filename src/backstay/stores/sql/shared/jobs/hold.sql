-- Put a waiting job aside until something releases it.
UPDATE backstay.jobs AS job
SET state = 'held',
    reason = given.why,
    parked_for = NULL,
    updated_at = clock.at
FROM {each job_id uuid, why text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'available')
RETURNING id, tenant, queue
