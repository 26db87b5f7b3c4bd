-- Limits: how much of each is used, who holds the permits, and which jobs wait for room or for their turn.

ALTER TABLE windlass.jobs ADD COLUMN parked_for {word};
ALTER TABLE windlass.jobs ADD COLUMN order_key {word};
ALTER TABLE windlass.kinds ADD COLUMN ordered_by text;

CREATE INDEX jobs_parked ON windlass.jobs (parked_for, turn, id)
WHERE state = 'held' AND parked_for IS NOT NULL;

CREATE INDEX jobs_order ON windlass.jobs (order_key, created_at, id)
WHERE order_key IS NOT NULL AND state IN ('scheduled', 'held', 'available', 'running');

-- A row for every limit that was asked for. Locking it is what lets claims under the same limit go one by one.
-- `every` is zero where jobs are counted that run; otherwise a token comes so often, and they are spent until then.
CREATE TABLE windlass.limits (
    key {word} NOT NULL PRIMARY KEY,
    most integer NOT NULL,
    every {interval} NOT NULL,
    yields boolean NOT NULL,
    spent_until {timestamp} NOT NULL,
    next_at {timestamp},
    CONSTRAINT limit_is_positive CHECK (most > 0)
);

CREATE INDEX limits_due ON windlass.limits (next_at)
WHERE next_at IS NOT NULL;

-- A permit counts exactly while its job runs under its epoch, whoever ends that and however. Rows are never changed,
-- only added and removed, so one that has served can be removed at any time.
CREATE TABLE windlass.permits (
    limit_key {word} NOT NULL,
    job_id {uuid} NOT NULL,
    lease_epoch integer NOT NULL,
    PRIMARY KEY (limit_key, job_id, lease_epoch)
);

CREATE INDEX permits_of_job ON windlass.permits (job_id);

-- The key of a job from its kind's template, as Python makes it; NULL where an argument cannot be part of a key.
CREATE FUNCTION windlass.filled_key(template text, args jsonb, tenant text)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    part text[];
    made text := '';
    given jsonb;
BEGIN
    IF template IS NULL THEN
        RETURN NULL;
    END IF;
    FOR part IN SELECT regexp_matches(template, '([^{}]*)(?:\{(\w+)\})?', 'g') LOOP
        made := made || COALESCE(part[1], '');
        IF part[2] IS NOT NULL THEN
            given := CASE WHEN part[2] = 'tenant' AND NOT args ? 'tenant' THEN to_jsonb(tenant) ELSE args -> part[2] END;
            IF given IS NULL OR jsonb_typeof(given) NOT IN ('string', 'number', 'boolean')
               OR (jsonb_typeof(given) = 'number' AND given::text !~ '^-?[0-9]+$') THEN
                RETURN NULL;
            END IF;
            made := made || (given #>> '{}');
        END IF;
    END LOOP;
    IF length(made) > 200 THEN
        RETURN left(made, 135) || '~' || encode(sha256(convert_to(made, 'UTF8')), 'hex');
    END IF;
    RETURN made;
END
$$;

-- What every field of a job may be: as before, and the key by which jobs go in order.
CREATE OR REPLACE FUNCTION windlass.job_fields()
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT '{
    "id": {"type": "string", "format": "uuid"},
    "kind": {"type": "string", "format": "name"},
    "queue": {"type": "string", "format": "name"},
    "args": {"type": "object"},
    "args_text": {"type": "string"},
    "priority": {"type": "integer", "minimum": 1, "maximum": 10},
    "ageing_step_seconds": {"type": "number", "minimum": 0, "maximum": 315619200},
    "delay_seconds": {"type": "number", "minimum": 0, "maximum": 315619200},
    "run_at": {"type": "string", "format": "date-time"},
    "held_for": {"type": "string", "format": "key"},
    "tenant": {"type": "string", "format": "key"},
    "name": {"type": "string", "format": "key"},
    "description": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string", "format": "key"}},
    "metadata": {"type": "object"},
    "policy": {"type": "object"},
    "parent_id": {"type": "string", "format": "uuid"},
    "correlation_id": {"type": "string", "format": "key"},
    "created_by": {"type": "string", "format": "key"},
    "idempotency_key": {"type": "string", "format": "key"},
    "fingerprint": {"type": "string", "format": "key"},
    "unique_key": {"type": "string", "format": "key"},
    "unique_for_seconds": {"type": "number", "minimum": 0.001, "maximum": 315619200},
    "expires_in_seconds": {"type": "number", "minimum": 0, "maximum": 315619200},
    "expires_at": {"type": "string", "format": "date-time"},
    "deadline_in_seconds": {"type": "number", "minimum": 0, "maximum": 315619200},
    "deadline": {"type": "string", "format": "date-time"},
    "order_key": {"type": "string", "format": "key"}
}'::jsonb
$$;

-- Store jobs that passed the checks: as before, and with the key by which jobs of their kind go in order.
CREATE OR REPLACE FUNCTION windlass.insert_jobs(batch jsonb, ids uuid[], at timestamptz, is_resolved boolean)
RETURNS TABLE (id uuid, queue text, state text)
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    RETURN QUERY
    INSERT INTO windlass.jobs AS stored (
        id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, tenant, args,
        own_max_attempts, own_timeout, own_lease, policy, tags, metadata, name, description, parent_id,
        correlation_id, created_by, idempotency_key, unique_key, expires_at, deadline, order_key
    )
    SELECT
        given.id,
        given.kind,
        given.queue,
        CASE
            WHEN given.held_for IS NOT NULL THEN 'held'
            WHEN given.due_at > at THEN 'scheduled'
            ELSE 'available'
        END,
        given.held_for,
        given.priority,
        given.due_at,
        given.due_at + (given.priority - 5) * make_interval(secs => given.ageing_step),
        at,
        at,
        COALESCE(given.tenant, ''),
        COALESCE(given.args_text::json, given.args, '{}'),
        (given.policy ->> 'max_attempts')::smallint,
        make_interval(secs => (given.policy ->> 'timeout_seconds')::float8),
        make_interval(secs => (given.policy ->> 'lease_seconds')::float8),
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
        COALESCE(given.expires_at, at + make_interval(secs => given.expires_in)),
        COALESCE(given.deadline, at + make_interval(secs => given.deadline_in)),
        given.order_key
    FROM (
        SELECT
            ids[job.ordinality] AS id,
            job.kind,
            COALESCE(job.queue, known.queue) AS queue,
            job.held_for,
            COALESCE(job.priority, (merged.policy ->> 'priority')::smallint, 5) AS priority,
            GREATEST(COALESCE(job.run_at, at + make_interval(secs => job.delay_seconds), at), at) AS due_at,
            COALESCE(job.ageing_step_seconds, (merged.policy ->> 'ageing_step_seconds')::float8, 3600) AS ageing_step,
            job.tenant,
            job.args_text,
            job.args,
            job.policy,
            job.tags,
            job.metadata,
            job.name,
            job.description,
            job.parent_id,
            job.correlation_id,
            job.created_by,
            job.idempotency_key,
            -- A key with a window lives in the table of windows; only the others must be free of active jobs.
            CASE WHEN job.unique_for_seconds IS NULL THEN job.unique_key END AS unique_key,
            job.expires_at,
            COALESCE(job.expires_in_seconds, (merged.policy ->> 'expires_after_seconds')::float8) AS expires_in,
            job.deadline,
            COALESCE(job.deadline_in_seconds, (merged.policy ->> 'deadline_after_seconds')::float8) AS deadline_in,
            COALESCE(
                job.order_key,
                windlass.filled_key(
                    line.ordered_by, COALESCE(job.args_text::jsonb, job.args::jsonb, '{}'), COALESCE(job.tenant, '')
                )
            ) AS order_key
        FROM ROWS FROM (
            jsonb_to_recordset(batch) AS (
                kind text, queue text, args json, args_text text, priority smallint, ageing_step_seconds float8,
                delay_seconds float8, run_at timestamptz, held_for text, tenant text, name text, description text,
                tags jsonb, metadata jsonb, policy json, parent_id uuid, correlation_id text, created_by text,
                idempotency_key text, unique_key text, unique_for_seconds float8, expires_in_seconds float8,
                expires_at timestamptz, deadline_in_seconds float8, deadline timestamptz, order_key text
            )
        ) WITH ORDINALITY AS job
        LEFT JOIN windlass.kinds AS known ON known.kind = job.kind AND NOT is_resolved
        LEFT JOIN windlass.kinds AS line ON line.kind = job.kind AND line.ordered_by IS NOT NULL
        CROSS JOIN LATERAL (
            SELECT COALESCE(known.policy, '{}') || COALESCE(job.policy::jsonb, '{}') AS policy
        ) AS merged
    ) AS given
    ON CONFLICT DO NOTHING
    RETURNING stored.id, stored.queue, stored.state;
END
$$;
