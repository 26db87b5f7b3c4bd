-- The quotas that `more` jobs of a tenant would break. A quota of a tenant's own counts instead of the one for each; one
-- for all queues counts beside one for a queue.
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
WHERE CASE WHEN quota.queue = '' THEN more.total ELSE more.number END + (
    SELECT count(*)
    FROM backstay.jobs AS waiting
    WHERE waiting.tenant = more.tenant
      AND waiting.tenant <> ''
      AND waiting.state IN ('scheduled', 'held', 'available')
      AND (quota.queue = '' OR waiting.queue = quota.queue)
) > quota.most
