-- How jobs have just ended whose kind reacts to ends, in the transaction that ended them.
-- Texts, because the drivers of applications would read JSON, each in its own way.
SELECT
    job.id,
    job.kind,
    job.queue,
    job.tenant,
    job.state,
    job.reason,
    CAST(job.error AS text) AS error,
    job.attempt,
    job.run,
    job.lease_epoch,
    job.created_by,
    job.correlation_id,
    job.parent_id,
    job.idempotency_key,
    {microseconds job.updated_at} AS ended_at,
    CAST(declared.reactions AS text) AS reactions
FROM {each job_id uuid} AS given
JOIN backstay.jobs AS job
  ON job.id = given.job_id
JOIN backstay.kinds AS declared
  ON declared.kind = job.kind
 AND declared.reactions IS NOT NULL
ORDER BY job.id
