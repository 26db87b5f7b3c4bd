-- Record success of one claim, if it still holds, as the last statement of its handler's transaction.
UPDATE backstay.jobs AS job
{part completed},
    result = :value
FROM (SELECT :held AS at) AS clock
WHERE job.id = :job_id
  AND job.lease_epoch = :epoch
RETURNING
    id,
    NULL AS transaction_id,
{part reacts}
