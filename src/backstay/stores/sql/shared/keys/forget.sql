-- Drop idempotency keys that have served their time and whose job has ended.
DELETE FROM backstay.idempotency_keys
WHERE expires_at < {now}
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS job
    WHERE job.id = job_id
      AND job.state NOT IN ('completed', 'dead', 'resolved', 'cancelled')
  )
