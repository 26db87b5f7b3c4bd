-- Give up jobs whose arguments no worker's code has fitted for as long as their policy says.
UPDATE backstay.jobs AS job
SET state = 'dead',
    reason = 'arguments do not fit',
    settled_epoch = job.lease_epoch,
    finished_at = clock.at,
    updated_at = clock.at
FROM {each job_id uuid} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('held', '')
RETURNING
    id, kind, lease_epoch, tenant, is_awaited, error,
{part reacts}
