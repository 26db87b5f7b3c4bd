-- Close a dead job for good without running it.
UPDATE backstay.jobs AS job
SET state = 'resolved',
    reason = given.why,
    updated_at = clock.at
FROM {each job_id uuid, why text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state = 'dead'
RETURNING
    id, tenant, queue,
{part reacts}
