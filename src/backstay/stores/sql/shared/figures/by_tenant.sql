-- The tenants that have jobs waiting or running, by name, and how many of these in each state, counted up to a limit.
-- The tenants are found by jumping from one to the next in the index of what they have waiting, and counted in its order
-- between bounds that are the same: an order that an equality made pointless would leave a scan of the table cheaper.
WITH RECURSIVE waiting (tenant, number) AS (
    SELECT
        (
            SELECT tenant
            FROM backstay.jobs
            WHERE tenant <> ''
              AND state IN ('scheduled', 'held', 'available')
            ORDER BY tenant
            LIMIT 1
        ),
        1
    UNION ALL
    SELECT
        (
            SELECT job.tenant
            FROM backstay.jobs AS job
            WHERE job.tenant <> ''
              AND job.state IN ('scheduled', 'held', 'available')
              AND job.tenant > waiting.tenant
            ORDER BY job.tenant
            LIMIT 1
        ),
        waiting.number + 1
    FROM waiting
    WHERE waiting.tenant IS NOT NULL
      AND waiting.number < :limit
),
running AS (
    SELECT tenant
    FROM backstay.jobs
    WHERE state = 'running'
    ORDER BY worker
    LIMIT :most
),
busy AS (
    SELECT tenant FROM waiting WHERE tenant IS NOT NULL
    UNION
    SELECT tenant FROM running WHERE tenant <> ''
)
SELECT
    busy.tenant,
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM backstay.jobs AS job
            WHERE job.tenant <> ''
              AND job.state IN ('scheduled', 'held', 'available')
              AND (job.tenant, job.state) >= (busy.tenant, 'available')
              AND (job.tenant, job.state) <= (busy.tenant, 'available')
            ORDER BY job.tenant, job.state
            LIMIT :most
        ) AS same
    ) AS available,
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM backstay.jobs AS job
            WHERE job.tenant <> ''
              AND job.state IN ('scheduled', 'held', 'available')
              AND (job.tenant, job.state) >= (busy.tenant, 'scheduled')
              AND (job.tenant, job.state) <= (busy.tenant, 'scheduled')
            ORDER BY job.tenant, job.state
            LIMIT :most
        ) AS same
    ) AS scheduled,
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM backstay.jobs AS job
            WHERE job.tenant <> ''
              AND job.state IN ('scheduled', 'held', 'available')
              AND (job.tenant, job.state) >= (busy.tenant, 'held')
              AND (job.tenant, job.state) <= (busy.tenant, 'held')
            ORDER BY job.tenant, job.state
            LIMIT :most
        ) AS same
    ) AS held,
    (SELECT count(*) FROM running WHERE running.tenant = busy.tenant) AS running
FROM busy
ORDER BY busy.tenant
LIMIT :limit
