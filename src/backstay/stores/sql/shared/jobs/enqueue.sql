-- Store new jobs. An id that is there already is left alone, so a lost reply can be answered by sending again;
-- so is a job whose unique key an active job holds.
-- Jobs of a paused tenant arrive held. Where a tenant would have more waiting than its quota allows, none is stored.
-- A time in the past counts as now: the order of jobs follows when they could first run.
WITH given AS MATERIALIZED (
    SELECT
        job.*,
        clock.at,
        {greatest}(COALESCE(job.run_at, clock.at + job.delay, clock.at), clock.at) AS due_at,
        job.tenant <> '' AND EXISTS (
            SELECT 1
            FROM backstay.tenant_pauses AS pause
            WHERE pause.tenant = job.tenant
              AND (pause.ends_at IS NULL OR pause.ends_at > clock.at)
        ) AS is_paused
    FROM {each
        id uuid, kind text, queue text, args json, priority smallint, turn_offset interval, delay interval,
        run_at timestamp, held_for text, tenant text, own_max_attempts smallint, own_timeout interval,
        own_lease interval, policy json, tags jsonb, metadata jsonb, name text, description text,
        parent_id uuid, correlation_id text, created_by text, idempotency_key text, unique_key text,
        expires_at timestamp, expires_in interval, deadline timestamp, deadline_in interval, order_key text,
        profile text, category text
    } AS job
    CROSS JOIN (SELECT {clock} AS at) AS clock
),
crowded AS MATERIALIZED (
    SELECT
        more.tenant,
        quota.queue,
        quota.most
    FROM (
        SELECT tenant, queue, count(*) AS number, SUM(count(*)) OVER (PARTITION BY tenant) AS total
        FROM given
        WHERE tenant <> ''
        GROUP BY tenant, queue
    ) AS more
    {part beyond_quota}
)
INSERT INTO backstay.jobs (
    id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, tenant, args,
    own_max_attempts, own_timeout, own_lease, policy, tags, metadata, name, description, parent_id,
    correlation_id, created_by, idempotency_key, unique_key, expires_at, deadline, order_key,
    profile, category
)
SELECT
    given.id,
    given.kind,
    given.queue,
    CASE
        WHEN given.held_for IS NOT NULL OR given.is_paused THEN 'held'
        WHEN given.due_at > given.at THEN 'scheduled'
        ELSE 'available'
    END,
    COALESCE(given.held_for, CASE WHEN given.is_paused THEN 'tenant paused' END),
    given.priority,
    given.due_at,
    given.due_at + given.turn_offset,
    given.at,
    given.at,
    given.tenant,
    given.args,
    given.own_max_attempts,
    given.own_timeout,
    given.own_lease,
    given.policy,
    given.tags,
    given.metadata,
    given.name,
    given.description,
    given.parent_id,
    given.correlation_id,
    given.created_by,
    given.idempotency_key,
    given.unique_key,
    COALESCE(given.expires_at, given.at + given.expires_in),
    COALESCE(given.deadline, given.at + given.deadline_in),
    given.order_key,
    given.profile,
    given.category
FROM given
WHERE NOT EXISTS (SELECT 1 FROM crowded)
ON CONFLICT DO NOTHING
RETURNING id
