-- Hand available jobs of one fair queue to one live worker, round robin over its tenants.
-- `ahead` walks from name to name through the index, from where the last claim has stopped, and `behind` from the
-- first name up to there, so that a tenant costs the same however many jobs it has waiting; `heads` locks its next
-- jobs, no more than so many rounds could take. Then the rounds are counted: in each a tenant has as many jobs as its
-- weight.
WITH RECURSIVE {part wanted},
ahead AS (
    SELECT
        (
            SELECT min(next.tenant)
            FROM wanted
            CROSS JOIN LATERAL (
                {part waiting_tenant}
                  AND head.tenant >= :since::text
                  AND (head.tenant > :since::text OR :spent::bigint > 0)
                ORDER BY head.tenant
                LIMIT 1
            ) AS next
        ) AS tenant,
        1 AS number
    UNION ALL
    SELECT
        (
            SELECT min(next.tenant)
            FROM wanted
            CROSS JOIN LATERAL (
                {part waiting_tenant}
                  AND head.tenant > ahead.tenant
                ORDER BY head.tenant
                LIMIT 1
            ) AS next
        ),
        ahead.number + 1
    FROM ahead
    WHERE ahead.tenant IS NOT NULL
      AND ahead.number < :limit::bigint
),
behind AS (
    SELECT
        (
            SELECT min(next.tenant)
            FROM wanted
            CROSS JOIN LATERAL (
                {part waiting_tenant}
                  AND head.tenant <= :since::text
                  AND (head.tenant < :since::text OR :spent::bigint = 0)
                ORDER BY head.tenant
                LIMIT 1
            ) AS next
        ) AS tenant,
        1 AS number
    WHERE (SELECT count(tenant) FROM ahead) < :limit::bigint
    UNION ALL
    SELECT
        (
            SELECT min(next.tenant)
            FROM wanted
            CROSS JOIN LATERAL (
                {part waiting_tenant}
                  AND head.tenant > behind.tenant
                  AND head.tenant <= :since::text
                  AND (head.tenant < :since::text OR :spent::bigint = 0)
                ORDER BY head.tenant
                LIMIT 1
            ) AS next
        ),
        behind.number + 1
    FROM behind
    WHERE behind.tenant IS NOT NULL
      AND behind.number < :limit::bigint
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
    LIMIT :limit::bigint
),
shares AS MATERIALIZED (
    SELECT
        tenants.tenant,
        tenants.lap,
        COALESCE(given.weight, 1) AS weight,
        CASE WHEN tenants.tenant = :since::text THEN :spent::bigint ELSE 0 END AS spent
    FROM tenants
    LEFT JOIN unnest(:weighted::text[], :weights::bigint[]) AS given (tenant, weight)
      ON given.tenant = tenants.tenant
),
heads AS MATERIALIZED (
    SELECT shares.tenant, shares.lap, shares.weight, shares.spent, found.id, found.turn
    FROM shares
    CROSS JOIN wanted
    CROSS JOIN LATERAL (
        SELECT jobs.id, jobs.turn
        FROM backstay.jobs
        WHERE jobs.state = 'available'
          AND NOT jobs.is_suspect
          AND jobs.tenant <> ''
          AND jobs.queue = :queue::text
          AND jobs.kind = wanted.of_kind
          AND jobs.tenant = shares.tenant
        ORDER BY jobs.turn, jobs.id
        LIMIT LEAST(:limit::bigint, shares.weight * :rounds::bigint)
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS found
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
    WHERE ranked.round < :rounds::bigint
    ORDER BY ranked.round, ranked.lap, ranked.tenant, ranked.id
    LIMIT :limit::bigint
)
UPDATE backstay.jobs AS job
{part start}
FROM wanted
WHERE job.id = ANY (ARRAY(SELECT id FROM picked))
  AND wanted.of_kind = job.kind
RETURNING {part claim}
