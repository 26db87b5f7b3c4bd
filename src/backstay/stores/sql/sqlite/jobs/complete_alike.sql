-- Record success for every claim that still holds, where all have the same epoch and none has a result: most are so.
UPDATE backstay.jobs AS job
{part completed},
    result = NULL
FROM (SELECT {clock} AS at) AS clock
WHERE {any_of job.id :ids uuid}
  AND job.lease_epoch = :epoch
{part completion_report}
