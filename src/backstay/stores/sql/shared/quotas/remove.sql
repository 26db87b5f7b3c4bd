-- Let any number of jobs wait again.
DELETE FROM backstay.quotas
WHERE tenant = :tenant
  AND queue = :queue
RETURNING tenant
