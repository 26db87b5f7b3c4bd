-- Give a lock up, if it is still the same holder's. The row stays until its fence cannot matter any more.
UPDATE backstay.locks
SET expires_at = clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE tenant = :tenant
  AND id = :id
  AND (CAST(:fence AS bigint) IS NULL OR fence = :fence)
  AND expires_at > clock.at
RETURNING id
