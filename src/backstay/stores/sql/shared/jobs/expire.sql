-- Cancel jobs that nobody started in time.
UPDATE backstay.jobs AS job
SET state = 'cancelled',
    reason = 'expired',
    finished_at = clock.at,
    updated_at = clock.at
FROM {each job_id uuid} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.state IN ('scheduled', 'held', 'available')
RETURNING
    id, tenant, is_awaited,
{part reacts}
