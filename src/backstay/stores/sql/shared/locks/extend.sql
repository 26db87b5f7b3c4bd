-- Hold a lock for longer, if it is still held.
UPDATE backstay.locks
SET expires_at = clock.at + CAST(:ttl AS {interval})
FROM (SELECT {clock} AS at) AS clock
WHERE tenant = :tenant
  AND id = :id
  AND fence = :fence
  AND expires_at > clock.at
RETURNING id
