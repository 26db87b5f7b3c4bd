-- Record success for every claim that still holds.
UPDATE backstay.jobs AS job
{part completed},
    result = given.value
FROM {each job_id uuid, epoch int, value json} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE job.id = given.job_id
  AND job.lease_epoch = given.epoch
{part completion_report}
