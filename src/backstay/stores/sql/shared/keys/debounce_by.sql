-- Let a key stand for another job, because the one before has become available.
UPDATE backstay.debounces
SET job_id = :job_id
WHERE tenant = :tenant
  AND key = :key
