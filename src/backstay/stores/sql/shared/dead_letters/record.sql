-- Open a dead letter for a job that has just died under this epoch. Naming its state would invite the planner to
-- come in through the index of all dead rows. Versions go on from death to death: an old one must not fit a new
-- letter.
INSERT INTO backstay.dead_letters (
    job_id, lease_epoch, tenant, kind, queue, reason, fingerprint, error, attempts, first_attempted_at, died_at, version,
    args
)
SELECT
    job.id, given.epoch, job.tenant, job.kind, job.queue, job.reason, given.cause, job.error, job.run,
    COALESCE(
        (SELECT min(started_at) FROM backstay.attempts AS past WHERE past.job_id = job.id),
        job.started_at
    ),
    job.finished_at,
    COALESCE(
        (SELECT max(version) FROM backstay.dead_letters AS past WHERE past.job_id = job.id),
        0
    ) + 1,
    job.args
FROM {each job_id uuid, epoch int, cause text} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
 AND job.settled_epoch = given.epoch
WHERE TRUE
ON CONFLICT (job_id, lease_epoch) DO NOTHING
