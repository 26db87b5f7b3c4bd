-- Record success for every claim that still holds. (id, epoch) is the whole guard: naming the state would invite
-- the planner to come in through the index of running rows.
WITH done AS (
    UPDATE backstay.jobs AS job
    {part completed},
        result = given.value
    FROM {each job_id uuid, epoch int, value json} AS given
    CROSS JOIN (SELECT {clock} AS at) AS clock
    WHERE job.id = given.job_id
      AND job.lease_epoch = given.epoch
    RETURNING job.id, job.is_awaited
)
{part completion_report}
