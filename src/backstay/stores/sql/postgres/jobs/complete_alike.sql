-- Record success for every claim that still holds, where all have the same epoch and none has a result: most are so, and
-- rows are found faster by a list of ids than one after the other.
WITH done AS (
    UPDATE backstay.jobs AS job
    {part completed},
        result = NULL
    FROM (SELECT {clock} AS at) AS clock
    WHERE {any_of job.id :ids uuid}
      AND job.lease_epoch = :epoch
    RETURNING job.id, job.is_awaited
)
{part completion_report}
