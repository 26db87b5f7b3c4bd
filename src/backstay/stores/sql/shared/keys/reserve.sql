-- Take an idempotency key for a job; one that has served its time, of a job that has ended, is free again.
INSERT INTO backstay.idempotency_keys AS taken (tenant, key, fingerprint, job_id, expires_at)
SELECT :tenant, :key, :fingerprint, :job_id, clock.at + CAST(:keep AS {interval})
FROM (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (tenant, key) DO UPDATE
SET fingerprint = excluded.fingerprint,
    job_id = excluded.job_id,
    expires_at = excluded.expires_at
WHERE taken.expires_at < {now}
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS job
    WHERE job.id = taken.job_id
      AND job.state NOT IN ('completed', 'dead', 'resolved', 'cancelled')
  )
RETURNING job_id
