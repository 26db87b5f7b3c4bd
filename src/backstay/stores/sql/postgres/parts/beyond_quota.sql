-- The quotas that `more` jobs of a tenant would break. A quota of a tenant's own counts instead of the one for each; one
-- for all queues counts beside one for a queue. Of what waits, only so much is counted as the quota allows and one more:
-- the rest would change nothing.
JOIN backstay.quotas AS quota
  ON quota.queue IN (more.queue, '')
 AND (
    quota.tenant = more.tenant
    OR (
        quota.tenant = ''
        AND NOT EXISTS (
            SELECT 1
            FROM backstay.quotas AS own
            WHERE own.tenant = more.tenant
              AND own.queue = quota.queue
        )
    )
)
WHERE CASE WHEN quota.queue = '' THEN more.total ELSE more.number END
    + backstay.waiting_jobs(more.tenant, quota.queue, quota.most + 1) > quota.most
