-- Which tenants would have more jobs waiting than a quota allows.
SELECT
    more.tenant,
    quota.queue,
    quota.most
FROM (
    SELECT tenant, queue, SUM(number) AS number, SUM(SUM(number)) OVER (PARTITION BY tenant) AS total
    FROM {each tenant text, queue text, number int} AS asked
    WHERE tenant <> ''
    GROUP BY tenant, queue
) AS more
{part beyond_quota}
ORDER BY more.tenant, quota.queue
