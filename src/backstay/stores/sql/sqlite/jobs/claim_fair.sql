-- Hand available jobs of one fair queue to one live worker, round robin over its tenants.
-- `ahead` walks from name to name through the index, from where the last claim has stopped, and `behind` from the
-- first name up to there, so that a tenant costs the same however many jobs it has waiting; `heads` are its next jobs, no more than so many rounds could take. Then the
-- rounds are counted: in each a tenant has as many jobs as its weight.
WITH RECURSIVE {part wanted},
ahead AS (
    SELECT
        (
            SELECT min((
                {part waiting_tenant}
                  AND head.tenant >= :since
                  AND (head.tenant > :since OR :spent > 0)
                ORDER BY head.tenant
                LIMIT 1
            ))
            FROM wanted
        ) AS tenant,
        1 AS number
    UNION ALL
    SELECT
        (
            SELECT min((
                {part waiting_tenant}
                  AND head.tenant > ahead.tenant
                ORDER BY head.tenant
                LIMIT 1
            ))
            FROM wanted
        ),
        ahead.number + 1
    FROM ahead
    WHERE ahead.tenant IS NOT NULL
      AND ahead.number < :limit
),
behind AS (
    SELECT
        (
            SELECT min((
                {part waiting_tenant}
                  AND head.tenant <= :since
                  AND (head.tenant < :since OR :spent = 0)
                ORDER BY head.tenant
                LIMIT 1
            ))
            FROM wanted
        ) AS tenant,
        1 AS number
    WHERE (SELECT count(tenant) FROM ahead) < :limit
    UNION ALL
    SELECT
        (
            SELECT min((
                {part waiting_tenant}
                  AND head.tenant > behind.tenant
                  AND head.tenant <= :since
                  AND (head.tenant < :since OR :spent = 0)
                ORDER BY head.tenant
                LIMIT 1
            ))
            FROM wanted
        ),
        behind.number + 1
    FROM behind
    WHERE behind.tenant IS NOT NULL
      AND behind.number < :limit
),
tenants AS (
    SELECT ahead.tenant, 0 AS lap
    FROM ahead
    WHERE ahead.tenant IS NOT NULL
    UNION ALL
    SELECT behind.tenant, 1
    FROM behind
    WHERE behind.tenant IS NOT NULL
    ORDER BY lap, tenant
    LIMIT :limit
),
shares AS MATERIALIZED (
    SELECT
        tenants.tenant,
        tenants.lap,
        COALESCE(weights.value, 1) AS weight,
        CASE WHEN tenants.tenant = :since THEN :spent ELSE 0 END AS spent
    FROM tenants
    LEFT JOIN json_each(:weighted) AS weighted ON weighted.value = tenants.tenant
    LEFT JOIN json_each(:weights) AS weights ON weights.key = weighted.key
),
heads AS MATERIALIZED (
    SELECT shares.tenant, shares.lap, shares.weight, shares.spent, job.id, job.turn
    FROM shares
    CROSS JOIN wanted
    CROSS JOIN backstay.jobs AS job
    WHERE job.rowid IN (
        SELECT head.rowid
        FROM backstay.jobs AS head
        WHERE head.state = 'available'
          AND NOT head.is_suspect
          AND head.tenant <> ''
          AND head.queue = :queue
          AND head.kind = wanted.of_kind
          AND head.tenant = shares.tenant
        ORDER BY head.turn, head.id
        LIMIT min(:limit, :heaviest * :rounds)
    )
),
picked AS MATERIALIZED (
    SELECT ranked.id
    FROM (
        SELECT
            heads.id,
            heads.tenant,
            heads.lap,
            (
                ROW_NUMBER() OVER (PARTITION BY heads.tenant ORDER BY heads.turn, heads.id) + heads.spent - 1
            ) / heads.weight AS round
        FROM heads
    ) AS ranked
    WHERE ranked.round < :rounds
    ORDER BY ranked.round, ranked.lap, ranked.tenant, ranked.id
    LIMIT :limit
)
UPDATE backstay.jobs AS job
{part start}
FROM wanted
WHERE job.id IN (SELECT id FROM picked)
  AND wanted.of_kind = job.kind
RETURNING {part claim}
