-- The job that an idempotency key stands for.
SELECT job_id, fingerprint
FROM windlass.idempotency_keys
WHERE tenant = :tenant
  AND key = :key
