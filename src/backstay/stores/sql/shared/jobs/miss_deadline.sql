-- Give up waiting jobs whose whole life was to be over by now.
UPDATE backstay.jobs AS job
SET state = 'dead',
    reason = 'deadline',
    settled_epoch = job.lease_epoch,
    finished_at = clock.at,
    updated_at = clock.at
FROM {each job_id uuid} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'held', 'available')
RETURNING
    id, kind, lease_epoch, tenant, is_awaited,
{part reacts}
