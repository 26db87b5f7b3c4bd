-- What a job must look like that is enqueued with SQL: its fields, its policy, its arguments.

-- What every field of a job may be. Ten years, the longest time ahead, are 315,619,200 seconds.
CREATE FUNCTION windlass.job_fields()
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
    "deadline": {"type": "string", "format": "date-time"}
}'::jsonb
$$;

-- What the policy of one job may change.
CREATE FUNCTION windlass.policy_schema()
RETURNS jsonb
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT '{
    "type": "object",
    "additionalProperties": false,
    "properties": {
        "max_attempts": {"$ref": "#/$defs/count"},
        "max_crashes": {"$ref": "#/$defs/count"},
        "backoff": {"$ref": "#/$defs/backoff"},
        "lease_seconds": {"type": "number", "minimum": 0.01, "maximum": 315619200},
        "renew_every_seconds": {"$ref": "#/$defs/positive"},
        "timeout_seconds": {"$ref": "#/$defs/positive"},
        "max_timeout_seconds": {"$ref": "#/$defs/positive"},
        "timeout_growth": {"type": "number", "minimum": 1, "maximum": 10},
        "priority": {"type": "integer", "minimum": 1, "maximum": 10},
        "ageing_step_seconds": {"$ref": "#/$defs/length"},
        "cancel_running": {"type": "boolean"},
        "retry_unknown": {"type": "boolean"},
        "exhausted_wins": {"type": "boolean"},
        "classes": {"type": "object", "additionalProperties": {"$ref": "#/$defs/rule"},
                    "propertyNames": {"pattern": "^[A-Za-z_]\\w*$", "description": "a name like rate_limit"}},
        "expires_after_seconds": {"anyOf": [{"$ref": "#/$defs/positive"}, {"type": "null"}]},
        "deadline_after_seconds": {"anyOf": [{"$ref": "#/$defs/positive"}, {"type": "null"}]},
        "keep_completed_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_cancelled_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_resolved_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "audit_every_transition": {"type": "boolean"},
        "max_result_bytes": {"type": "integer", "minimum": 1, "maximum": 1073741824},
        "max_payload_bytes": {"type": "integer", "minimum": 1, "maximum": 1073741824},
        "concurrency": {"type": "integer", "minimum": 1, "maximum": 10000},
        "poll_busy_seconds": {"$ref": "#/$defs/positive"},
        "poll_idle_seconds": {"$ref": "#/$defs/positive"},
        "shutdown_grace_seconds": {"$ref": "#/$defs/length"}
    },
    "$defs": {
        "count": {"type": "integer", "minimum": 1, "maximum": 1000},
        "positive": {"type": "number", "minimum": 0.001, "maximum": 315619200},
        "length": {"type": "number", "minimum": 0, "maximum": 315619200},
        "backoff": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "base_seconds": {"$ref": "#/$defs/length"},
                "multiplier": {"type": "number", "minimum": 1, "maximum": 100},
                "cap_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
                "jitter": {"type": "number", "minimum": 0, "maximum": 1}
            }
        },
        "rule": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "retry": {"type": "boolean"},
                "max_attempts": {"anyOf": [{"$ref": "#/$defs/count"}, {"type": "null"}]},
                "backoff": {"anyOf": [{"$ref": "#/$defs/backoff"}, {"type": "null"}]}
            }
        }
    }
}'::jsonb
$$;

-- What is wrong with the policy of one job, alone or together with that of its kind.
CREATE FUNCTION windlass.policy_problem(own jsonb, of_kind jsonb)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    found text[] := windlass.argument_problem(windlass.policy_schema(), own, '{}', '/policy');
    merged CONSTANT jsonb := COALESCE(of_kind, '{}') || own;
    longest CONSTANT numeric := COALESCE((merged ->> 'max_timeout_seconds')::numeric, 3600);
    lease CONSTANT numeric := COALESCE((merged ->> 'lease_seconds')::numeric, 60);
BEGIN
    IF found IS NOT NULL THEN
        RETURN found;
    ELSIF (own ->> 'timeout_seconds')::numeric > longest THEN
        RETURN ARRAY['/policy/timeout_seconds', format('must be at most max_timeout_seconds (%s)', longest)];
    ELSIF 2 * (own ->> 'renew_every_seconds')::numeric > lease THEN
        RETURN ARRAY['/policy/renew_every_seconds', format('must be at most half of lease_seconds (%s)', lease)];
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with one field of a job, as pointer and problem. The value is named, unless it may be secret.
CREATE FUNCTION windlass.field_problem(field text, value jsonb, fields jsonb, at timestamptz)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    pointer CONSTANT text := windlass.pointer_to('', field);
    found text[];
BEGIN
    IF NOT fields ? field THEN
        RETURN ARRAY[pointer, format('is unknown; known are: %s', windlass.names_of(fields))];
    END IF;
    found := windlass.argument_problem(fields -> field, value, '{}', pointer);
    IF found IS NULL
        AND field IN ('run_at', 'expires_at', 'deadline')
        AND windlass.moment(value #>> ARRAY[]::text[]) > at + interval '3653 days' THEN
        found := ARRAY[pointer, 'must be at most ten years ahead'];
    END IF;
    IF found IS NULL OR field IN ('args', 'args_text', 'metadata', 'policy') THEN
        RETURN found;
    END IF;
    RETURN ARRAY[found[1], format('cannot be %s: it %s', windlass.shown(value), found[2])];
END
$$;

-- A value, short enough to be part of a message.
CREATE FUNCTION windlass.shown(value jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE WHEN length(value::text) > 60 THEN left(value::text, 60) || '…' ELSE value::text END
$$;

-- Two fields that say the same thing in two ways, or one that means nothing without another.
CREATE FUNCTION windlass.pair_problem(job jsonb)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    pair text[];
BEGIN
    FOREACH pair SLICE 1 IN ARRAY ARRAY[
        ['args', 'args_text'], ['run_at', 'delay_seconds'],
        ['expires_at', 'expires_in_seconds'], ['deadline', 'deadline_in_seconds']
    ] LOOP
        IF job ->> pair[1] IS NOT NULL AND job ->> pair[2] IS NOT NULL THEN
            RETURN ARRAY['/' || pair[2], format('cannot be given together with %s', pair[1])];
        END IF;
    END LOOP;
    IF job ->> 'unique_for_seconds' IS NOT NULL AND job ->> 'unique_key' IS NULL THEN
        RETURN ARRAY['/unique_for_seconds', 'needs a unique_key as well'];
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with the arguments of a job: as JSON, then as what its kind takes.
CREATE FUNCTION windlass.args_problem(job jsonb, known windlass.kinds, OUT rule text, OUT problem text[])
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    max_bytes CONSTANT integer := COALESCE((known.policy ->> 'max_payload_bytes')::integer, 1048576);
    args json;
    args_parsed jsonb;
BEGIN
    rule := 'valid_payload';
    -- Looked at as json first: converting thousands of levels to jsonb could exhaust the stack.
    args := COALESCE((job ->> 'args_text')::json, NULLIF(job -> 'args', 'null')::json, '{}');
    IF json_typeof(args) <> 'object' THEN
        problem := ARRAY['/args_text', 'must be the text of a JSON object'];
        RETURN;
    END IF;
    problem := windlass.payload_problem(args, max_bytes, '/args');
    IF problem IS NULL THEN
        -- Also where no schema asks for it: jsonb refuses NUL and half characters, which json would keep.
        args_parsed := COALESCE(NULLIF(job -> 'args', 'null'), args::jsonb);
    END IF;
    IF problem IS NULL AND known.arguments IS NOT NULL THEN
        rule := 'valid_arguments';
        problem := windlass.argument_problem(known.arguments, args_parsed, known.arguments, '/args');
    END IF;
EXCEPTION
    WHEN invalid_text_representation OR untranslatable_character OR statement_too_complex THEN
        problem := ARRAY['/args_text', format('must be the text of a JSON object: %s', SQLERRM)];
END
$$;

-- What is wrong with one job: the rule it breaks, the JSON pointer of the place, and the problem; NULL when nothing is.
CREATE FUNCTION windlass.job_problem(
    job jsonb, known windlass.kinds, at timestamptz, OUT rule text, OUT pointer text, OUT problem text
)
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    fields CONSTANT jsonb := windlass.job_fields();
    field text;
    value jsonb;
    broken text[];
BEGIN
    rule := 'valid_job';
    IF jsonb_typeof(job) <> 'object' THEN
        broken := ARRAY['', format('a job must be an object with at least a kind, not %s', windlass.shown(job))];
    ELSIF job ->> 'kind' IS NULL THEN
        broken := ARRAY['/kind', 'is missing: name the kind of job'];
    ELSE
        FOR field, value IN
            SELECT given.key, given.value
            FROM jsonb_each(job) AS given
            WHERE given.value <> 'null'
              AND (given.key <> 'tenant' OR given.value <> '""')
        LOOP
            broken := windlass.field_problem(field, value, fields, at);
            EXIT WHEN broken IS NOT NULL;
        END LOOP;
        broken := COALESCE(broken, windlass.pair_problem(job));
        IF broken IS NULL AND known.kind IS NULL THEN
            rule := 'known_kind';
            broken := ARRAY['/kind', format(
                'cannot be %s: no worker or client has declared this kind; start one that has it, or correct the name',
                job -> 'kind'
            )];
        END IF;
        IF broken IS NULL AND job ->> 'policy' IS NOT NULL THEN
            broken := windlass.policy_problem(job -> 'policy', known.policy);
        END IF;
        IF broken IS NULL AND job ->> 'metadata' IS NOT NULL THEN
            broken := windlass.payload_problem((job -> 'metadata')::json, 1048576, '/metadata');
        END IF;
        IF broken IS NULL THEN
            SELECT found.rule, found.problem INTO rule, broken FROM windlass.args_problem(job, known) AS found;
        END IF;
    END IF;
    pointer := broken[1];
    problem := broken[2];
END
$$;

-- Raise for the first bad job of a batch and name the others. DETAIL is a JSON pointer into what was handed in,
-- the column is the field, the constraint is the rule that was broken.
CREATE FUNCTION windlass.refuse_invalid(batch jsonb, is_array boolean, at timestamptz)
RETURNS void
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    bad record;
    first record;
    others bigint[] := '{}';
BEGIN
    FOR bad IN
        SELECT given.number - 1 AS index, found.rule, found.pointer, found.problem
        FROM jsonb_array_elements(batch) WITH ORDINALITY AS given (job, number)
        LEFT JOIN windlass.kinds AS known ON known.kind = given.job ->> 'kind'
        CROSS JOIN LATERAL windlass.job_problem(given.job, known, at) AS found
        WHERE found.problem IS NOT NULL
        ORDER BY given.number
        LIMIT 100
    LOOP
        IF first IS NULL THEN
            first := bad;
        ELSE
            others := others || bad.index;
        END IF;
    END LOOP;
    IF first IS NULL THEN
        RETURN;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = '22023',
        MESSAGE = CASE WHEN is_array THEN format('job %s: ', first.index) ELSE '' END
            || concat_ws(' ', NULLIF(replace(ltrim(first.pointer, '/'), '/', '.'), ''), first.problem),
        DETAIL = COALESCE(NULLIF(CASE WHEN is_array THEN '/' || first.index ELSE '' END || first.pointer, ''), '/'),
        HINT = CASE
            WHEN others = '{}' THEN 'Nothing was stored.'
            ELSE format('Nothing was stored. Bad as well: job %s.', array_to_string(others, ', '))
        END,
        COLUMN = split_part(first.pointer, '/', 2),
        CONSTRAINT = first.rule;
END
$$;
