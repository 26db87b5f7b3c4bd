-- The job that an idempotency key stands for.
SELECT job_id, fingerprint
FROM backstay.idempotency_keys
WHERE tenant = :tenant
  AND key = :key
