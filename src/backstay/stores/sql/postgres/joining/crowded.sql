-- Which tenants would have more jobs waiting than a quota allows, asked in the caller's transaction on whichever driver.
-- It must look cheap: what looks expensive is compiled first, unless the caller has switched that off, for half a second.
SELECT
    more.tenant,
    quota.queue,
    quota.most
FROM (
    SELECT tenant, queue, SUM(number) AS number, SUM(SUM(number)) OVER (PARTITION BY tenant) AS total
    FROM jsonb_to_recordset(CAST(CAST(:groups AS text) AS jsonb)) AS asked (tenant text, queue text, number bigint)
    WHERE tenant <> '' AND number > 0
    GROUP BY tenant, queue
) AS more
{part beyond_quota}
ORDER BY more.tenant, quota.queue
