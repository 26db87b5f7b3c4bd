-- Record success for every claim that still holds, where the kind has jobs stored because of it: who was completed must
-- be known one by one.
UPDATE backstay.jobs AS job
{part completed},
    result = given.value
FROM {each job_id uuid, epoch int, value json} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.lease_epoch = given.epoch
RETURNING id, is_awaited
