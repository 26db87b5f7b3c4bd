-- Find the job that was stored last under a key, or take the key for this one; either way nobody else gets at the key
-- before this transaction has ended.
INSERT INTO backstay.debounces AS kept (tenant, key, job_id)
SELECT :tenant, :key, :job_id
WHERE TRUE
ON CONFLICT (tenant, key) DO UPDATE
SET key = excluded.key
RETURNING job_id
