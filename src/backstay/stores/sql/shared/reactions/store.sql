-- Store the jobs that ends bring about, and deliveries to webhooks, due at once. Quotas do not count here: the end of a job must not be refused
-- because its tenant has too many others waiting. Those of a paused tenant arrive held.
INSERT INTO backstay.jobs (
    id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, tenant, args, parent_id,
    correlation_id, created_by, idempotency_key, order_key, tags
)
SELECT
    given.id,
    given.kind,
    given.queue,
    CASE WHEN pause.tenant IS NULL THEN 'available' ELSE 'held' END,
    CASE WHEN pause.tenant IS NOT NULL THEN 'tenant paused' END,
    given.priority,
    clock.at,
    clock.at + given.turn_offset,
    clock.at,
    clock.at,
    given.tenant,
    given.args,
    given.parent_id,
    given.correlation_id,
    given.created_by,
    given.idempotency_key,
    given.order_key,
    given.tags
FROM {each
    id uuid, kind text, queue text, priority smallint, turn_offset interval, tenant text, args json, parent_id uuid,
    correlation_id text, created_by text, idempotency_key text, order_key text, tags jsonb
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
LEFT JOIN backstay.tenant_pauses AS pause
  ON pause.tenant = given.tenant
 AND given.tenant <> ''
 AND (pause.ends_at IS NULL OR pause.ends_at > clock.at)
WHERE TRUE
ON CONFLICT DO NOTHING
