-- Let an idempotency key stand for the job that was found in the place of a new one.
UPDATE backstay.idempotency_keys
SET job_id = :job_id
WHERE tenant = :tenant
  AND key = :key
  AND job_id = :instead_of
