-- Let any number of jobs wait again.
DELETE FROM windlass.quotas
WHERE tenant = :tenant
  AND queue = :queue
RETURNING tenant
