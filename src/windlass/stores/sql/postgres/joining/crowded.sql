-- Which tenants would have more jobs waiting than a quota allows, asked in the caller's transaction on whichever driver.
SELECT
    more.tenant,
    quota.queue,
    quota.most
FROM (
    SELECT tenant, queue, SUM(number) AS number, SUM(SUM(number)) OVER (PARTITION BY tenant) AS total
    FROM jsonb_to_recordset(CAST(CAST(:groups AS text) AS jsonb)) AS asked (tenant text, queue text, number bigint)
    WHERE tenant <> ''
    GROUP BY tenant, queue
) AS more
JOIN windlass.quotas AS quota
  ON quota.queue IN (more.queue, '')
 AND (
    quota.tenant = more.tenant
    OR (
        quota.tenant = ''
        AND NOT EXISTS (
            SELECT 1
            FROM windlass.quotas AS own
            WHERE own.tenant = more.tenant
              AND own.queue = quota.queue
        )
    )
)
WHERE CASE WHEN quota.queue = '' THEN more.total ELSE more.number END + (
    SELECT count(*)
    FROM windlass.jobs AS waiting
    WHERE waiting.tenant = more.tenant
      AND waiting.tenant <> ''
      AND waiting.state IN ('scheduled', 'held', 'available')
      AND (quota.queue = '' OR waiting.queue = quota.queue)
) > quota.most
ORDER BY more.tenant, quota.queue
