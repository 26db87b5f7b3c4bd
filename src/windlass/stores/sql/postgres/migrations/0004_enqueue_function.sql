-- Enqueueing with one SQL statement, inside whatever transaction the caller has open:
--     SELECT windlass.enqueue('send_mail', '{"to": "ada@example.org"}', '{"delay_seconds": 60}');
--     SELECT job_id, is_new FROM windlass.enqueue('[{"kind": "send_mail", "args": {"to": "ada@example.org"}}]'::jsonb);

-- A version-7 UUID: milliseconds, then the fraction of the millisecond, then chance, so that ids rise with time.
CREATE FUNCTION windlass.new_id()
RETURNS uuid
LANGUAGE sql
VOLATILE
AS $$
SELECT encode(
    overlay(
        uuid_send(gen_random_uuid())
        PLACING substring(int8send(now.us / 1000) FROM 3) || int2send((28672 + now.us % 1000 * 4096 / 1000)::smallint)
        FROM 1 FOR 8
    ),
    'hex'
)::uuid
FROM (SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS us) AS now
$$;

-- Write a value so that equal values give equal text: sorted keys, no spaces, floats in their shortest form.
-- Python writes the same text but for floats that jsonb has already made whole (1e16 and above), floats with a
-- fraction above 1e15, and -0.0.
CREATE FUNCTION windlass.canonical(value jsonb)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET extra_float_digits = 1
AS $$
DECLARE
    written text := value::text;
BEGIN
    CASE jsonb_typeof(value)
        WHEN 'object' THEN
            RETURN (
                SELECT '{' || COALESCE(string_agg(
                    to_json(each.key)::text || ':' || windlass.canonical(each.value), ',' ORDER BY each.key COLLATE "C"
                ), '') || '}'
                FROM jsonb_each(value) AS each
            );
        WHEN 'array' THEN
            RETURN (
                SELECT '[' || COALESCE(string_agg(windlass.canonical(item.value), ',' ORDER BY item.number), '') || ']'
                FROM jsonb_array_elements(value) WITH ORDINALITY AS item (value, number)
            );
        WHEN 'number' THEN
            IF position('.' IN written) = 0 THEN
                RETURN written;
            END IF;
            written := written::float8::text;
            RETURN CASE WHEN written ~ '[.e]' THEN written ELSE written || '.0' END;
        ELSE
            RETURN written;
    END CASE;
END
$$;

-- What identifies the work of a job: kind, arguments and the options given, under the names Python's client uses.
CREATE FUNCTION windlass.fingerprint(job jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT encode(sha256(convert_to(windlass.canonical(jsonb_build_array(
    job -> 'kind',
    COALESCE((job ->> 'args_text')::jsonb, NULLIF(job -> 'args', 'null'), '{}'),
    (
        SELECT COALESCE(jsonb_object_agg(
            CASE given.key
                WHEN 'delay_seconds' THEN 'delay'
                WHEN 'parent_id' THEN 'parent'
                WHEN 'unique_key' THEN 'unique'
                WHEN 'unique_for_seconds' THEN 'unique_for'
                WHEN 'expires_in_seconds' THEN 'expires'
                WHEN 'expires_at' THEN 'expires'
                WHEN 'deadline_in_seconds' THEN 'deadline'
                ELSE given.key
            END,
            given.value
        ), '{}')
        FROM jsonb_each(job) AS given
        WHERE given.value <> 'null'
          AND given.key NOT IN ('id', 'kind', 'args', 'args_text', 'idempotency_key', 'fingerprint', 'created_by')
    )
)), 'UTF8')), 'hex')
$$;

-- Store jobs that passed the checks; the n-th gets the n-th id. What a job leaves out comes from its kind, unless the
-- sender has resolved that already: then what is left out is meant to be.
-- As in the engine's own enqueue statement, an id that is there already is left alone, and so is a job whose unique key
-- an active job holds.
CREATE FUNCTION windlass.insert_jobs(batch jsonb, ids uuid[], at timestamptz, is_resolved boolean)
RETURNS TABLE (id uuid, queue text, state text)
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    RETURN QUERY
    INSERT INTO windlass.jobs AS stored (
        id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, tenant, args,
        own_max_attempts, own_timeout, own_lease, policy, tags, metadata, name, description, parent_id,
        correlation_id, created_by, idempotency_key, unique_key, expires_at, deadline
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
        COALESCE(given.deadline, at + make_interval(secs => given.deadline_in))
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
            COALESCE(job.deadline_in_seconds, (merged.policy ->> 'deadline_after_seconds')::float8) AS deadline_in
        FROM ROWS FROM (
            jsonb_to_recordset(batch) AS (
                kind text, queue text, args json, args_text text, priority smallint, ageing_step_seconds float8,
                delay_seconds float8, run_at timestamptz, held_for text, tenant text, name text, description text,
                tags jsonb, metadata jsonb, policy json, parent_id uuid, correlation_id text, created_by text,
                idempotency_key text, unique_key text, unique_for_seconds float8, expires_in_seconds float8,
                expires_at timestamptz, deadline_in_seconds float8, deadline timestamptz
            )
        ) WITH ORDINALITY AS job
        LEFT JOIN windlass.kinds AS known ON known.kind = job.kind AND NOT is_resolved
        CROSS JOIN LATERAL (
            SELECT COALESCE(known.policy, '{}') || COALESCE(job.policy::jsonb, '{}') AS policy
        ) AS merged
    ) AS given
    ON CONFLICT DO NOTHING
    RETURNING stored.id, stored.queue, stored.state;
END
$$;

-- Take an idempotency key for a job: NULL when it is ours now, otherwise the job that has it.
-- One that has served its time, of a job that has ended, is free again.
CREATE FUNCTION windlass.reserve_key(
    for_tenant text, wanted text, new_fingerprint text, new_job uuid, at timestamptz, pointer text
)
RETURNS uuid
LANGUAGE plpgsql
VOLATILE
AS $$
DECLARE
    holder record;
BEGIN
    LOOP
        INSERT INTO windlass.idempotency_keys AS taken (tenant, key, fingerprint, job_id, expires_at)
        VALUES (for_tenant, wanted, new_fingerprint, new_job, at + interval '24 hours')
        ON CONFLICT (tenant, key) DO UPDATE
        SET fingerprint = excluded.fingerprint,
            job_id = excluded.job_id,
            expires_at = excluded.expires_at
        WHERE taken.expires_at < at
          AND NOT EXISTS (
            SELECT 1
            FROM windlass.jobs AS job
            WHERE job.id = taken.job_id
              AND job.state NOT IN ('completed', 'dead', 'resolved', 'cancelled')
          );
        IF FOUND THEN
            RETURN NULL;
        END IF;
        SELECT known.job_id, known.fingerprint
        INTO holder
        FROM windlass.idempotency_keys AS known
        WHERE known.tenant = for_tenant
          AND known.key = wanted;
        -- Not found: it was forgotten in between, so it is free.
        EXIT WHEN FOUND;
    END LOOP;
    IF holder.fingerprint <> new_fingerprint THEN
        RAISE EXCEPTION USING
            ERRCODE = 'WL001',
            MESSAGE = format(
                'idempotency key %s was already used for a different job', windlass.shown(to_jsonb(wanted))
            ),
            DETAIL = pointer,
            HINT = 'Use a new key, or send the same job again.',
            COLUMN = 'idempotency_key',
            CONSTRAINT = 'one_job_per_key';
    END IF;
    RETURN holder.job_id;
END
$$;

-- Take a unique key for the window of time it is now: NULL when it is ours, otherwise the job that has it.
CREATE FUNCTION windlass.reserve_window(
    for_tenant text, wanted text, seconds numeric, new_job uuid, at timestamptz
)
RETURNS uuid
LANGUAGE plpgsql
VOLATILE
AS $$
DECLARE
    holder uuid;
BEGIN
    LOOP
        INSERT INTO windlass.unique_windows (tenant, key, window_number, job_id, expires_at)
        VALUES (
            for_tenant,
            wanted,
            (EXTRACT(EPOCH FROM at) * 1000)::bigint / (seconds * 1000)::bigint,
            new_job,
            at + make_interval(secs => seconds::float8)
        )
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN NULL;
        END IF;
        SELECT taken.job_id
        INTO holder
        FROM windlass.unique_windows AS taken
        WHERE taken.tenant = for_tenant
          AND taken.key = wanted
        ORDER BY taken.window_number DESC
        LIMIT 1;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN holder;
END
$$;

-- Store one job that has a key, or find the job that has its key already.
CREATE FUNCTION windlass.store_keyed(
    job jsonb, new_job uuid, at timestamptz, is_resolved boolean, pointer text,
    OUT holder uuid, OUT queue text, OUT state text
)
LANGUAGE plpgsql
VOLATILE
AS $$
DECLARE
    for_tenant CONSTANT text := COALESCE(job ->> 'tenant', '');
    own_key CONSTANT text := job ->> 'idempotency_key';
    tries integer := 0;
BEGIN
    IF own_key IS NOT NULL THEN
        holder := windlass.reserve_key(
            for_tenant, own_key, COALESCE(job ->> 'fingerprint', windlass.fingerprint(job)), new_job, at, pointer
        );
        IF holder IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    IF job ->> 'unique_for_seconds' IS NOT NULL THEN
        holder := windlass.reserve_window(
            for_tenant, job ->> 'unique_key', (job ->> 'unique_for_seconds')::numeric, new_job, at
        );
    END IF;
    WHILE holder IS NULL LOOP
        SELECT inserted.id, inserted.queue, inserted.state
        INTO holder, queue, state
        FROM windlass.insert_jobs(jsonb_build_array(job), ARRAY[new_job], at, is_resolved) AS inserted;
        IF FOUND THEN
            RETURN;
        END IF;
        -- Our own id: a first sending stored it and only the reply was lost.
        SELECT stored.id
        INTO holder
        FROM windlass.jobs AS stored
        WHERE stored.id = new_job;
        EXIT WHEN FOUND;
        SELECT stored.id
        INTO holder
        FROM windlass.jobs AS stored
        WHERE stored.tenant = for_tenant
          AND stored.unique_key = job ->> 'unique_key'
          AND stored.state IN ('scheduled', 'held', 'available', 'running')
          AND stored.unique_key IS NOT NULL;
        tries := tries + 1;
        IF holder IS NULL AND tries = 5 THEN
            RAISE EXCEPTION USING
                ERRCODE = 'lock_not_available',
                MESSAGE = 'the unique key changed hands five times: try again',
                DETAIL = pointer;
        END IF;
    END LOOP;
    -- The idempotency key must lead to the job that exists, not to the one that was not needed.
    IF own_key IS NOT NULL AND holder <> new_job THEN
        UPDATE windlass.idempotency_keys AS taken
        SET job_id = holder
        WHERE taken.tenant = for_tenant
          AND taken.key = own_key;
    END IF;
END
$$;

-- Remember which kinds are sent to a queue other than their own, so that workers look there. A route that is known is
-- not written again: two transactions that write the same row would wait for one another.
CREATE FUNCTION windlass.note_routes(batch jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    INSERT INTO windlass.routes (queue, kind)
    SELECT DISTINCT given.job ->> 'queue', known.kind
    FROM jsonb_array_elements(batch) AS given (job)
    JOIN windlass.kinds AS known ON known.kind = given.job ->> 'kind'
    WHERE given.job ->> 'queue' <> known.queue
      AND NOT EXISTS (
        SELECT 1
        FROM windlass.routes AS noted
        WHERE noted.queue = given.job ->> 'queue'
          AND noted.kind = known.kind
      )
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
END
$$;

-- Wake workers when this transaction commits, once for a queue. SET LOCAL windlass.notify = off keeps it silent:
-- many small transactions that notify wait for one another when they commit.
CREATE FUNCTION windlass.notify_workers(hints text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    IF COALESCE(current_setting('windlass.notify', TRUE), '') NOT IN ('off', 'false', 'no', '0') THEN
        PERFORM pg_notify('windlass', hint.name)
        FROM (SELECT DISTINCT unnest(hints) AS name) AS hint;
    END IF;
END
$$;

-- Store a batch of jobs that passed the checks. Rows come back in the order given; is_new is false for a job that was
-- there already under the same key. A pointer in an error begins with the job's place only when an array was given.
CREATE FUNCTION windlass.store_batch(batch jsonb, at timestamptz, is_resolved boolean, is_array boolean)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
AS $$
DECLARE
    own_ids uuid[];
    ids uuid[];
    hints text[];
    plain record;
    keyed record;
    stored record;
BEGIN
    -- Made at once and sorted, so that jobs of one batch keep their order.
    own_ids := ARRAY(SELECT windlass.new_id() FROM generate_series(1, jsonb_array_length(batch)) ORDER BY 1);
    ids := ARRAY(
        SELECT COALESCE((given.job ->> 'id')::uuid, own_ids[given.number])
        FROM jsonb_array_elements(batch) WITH ORDINALITY AS given (job, number)
        ORDER BY given.number
    );
    IF cardinality(ids) <> (SELECT count(DISTINCT each.id) FROM unnest(ids) AS each (id)) THEN
        RAISE EXCEPTION USING
            ERRCODE = '22023',
            MESSAGE = 'two jobs of the batch have the same id: give each its own, or none',
            DETAIL = '/',
            COLUMN = 'id',
            CONSTRAINT = 'valid_job';
    END IF;

    SELECT jsonb_agg(given.job ORDER BY given.number) AS jobs, array_agg(ids[given.number] ORDER BY given.number) AS ids
    INTO plain
    FROM jsonb_array_elements(batch) WITH ORDINALITY AS given (job, number)
    WHERE NOT windlass.is_keyed(given.job);
    hints := ARRAY(
        SELECT CASE inserted.state WHEN 'available' THEN 'queue:' || inserted.queue ELSE 'later' END
        FROM windlass.insert_jobs(plain.jobs, plain.ids, at, is_resolved) AS inserted
        WHERE inserted.state IN ('available', 'scheduled')
    );
    own_ids := ids;
    -- Always in the order of keys: two batches that share keys then wait for one another instead of deadlocking.
    FOR keyed IN
        SELECT given.job, given.number, CASE WHEN is_array THEN '/' || given.number - 1 ELSE '' END AS pointer
        FROM jsonb_array_elements(batch) WITH ORDINALITY AS given (job, number)
        WHERE windlass.is_keyed(given.job)
        ORDER BY given.job ->> 'tenant', given.job ->> 'idempotency_key', given.job ->> 'unique_key', given.number
    LOOP
        stored := windlass.store_keyed(
            keyed.job, ids[keyed.number], at, is_resolved, keyed.pointer || '/idempotency_key'
        );
        ids[keyed.number] := stored.holder;
        hints := hints || CASE stored.state
            WHEN 'available' THEN 'queue:' || stored.queue
            WHEN 'scheduled' THEN 'later'
        END;
    END LOOP;

    PERFORM windlass.notify_workers(array_remove(hints, NULL));
    RETURN QUERY
    SELECT each.id, each.id = each.own
    FROM unnest(ids, own_ids) WITH ORDINALITY AS each (id, own, number)
    ORDER BY each.number;
END
$$;

-- Store jobs as of a moment: one object or an array of them, all or none.
CREATE FUNCTION windlass.enqueue_as_of(jobs jsonb, as_of timestamptz)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at CONSTANT timestamptz := COALESCE(as_of, clock_timestamp());
    is_array CONSTANT boolean := COALESCE(jsonb_typeof(jobs) = 'array', FALSE);
    batch CONSTANT jsonb := CASE WHEN is_array THEN jobs ELSE jsonb_build_array(jobs) END;
BEGIN
    PERFORM windlass.refuse_invalid(batch, is_array, at);
    PERFORM windlass.note_routes(batch);
    RETURN QUERY
    SELECT stored.job_id, stored.is_new
    FROM windlass.store_batch(batch, at, FALSE, is_array) WITH ORDINALITY AS stored (job_id, is_new, number)
    ORDER BY stored.number;
END
$$;

-- Store jobs now that a client has checked against its own handlers, with every default resolved. A program may know a
-- kind that no worker has declared yet, or newer arguments of it, so neither is looked up here.
CREATE FUNCTION windlass.enqueue_checked(jobs jsonb)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT stored.job_id, stored.is_new
    FROM windlass.store_batch(jobs, clock_timestamp(), TRUE, TRUE) WITH ORDINALITY AS stored (job_id, is_new, number)
    ORDER BY stored.number;
END
$$;

CREATE FUNCTION windlass.is_keyed(job jsonb)
RETURNS boolean
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT job ->> 'idempotency_key' IS NOT NULL OR job ->> 'unique_key' IS NOT NULL
$$;

-- Store jobs now: one object or an array of them, all or none.
CREATE FUNCTION windlass.enqueue(jobs jsonb)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    RETURN QUERY
    SELECT stored.job_id, stored.is_new
    FROM windlass.enqueue_as_of(jobs, NULL) WITH ORDINALITY AS stored (job_id, is_new, number)
    ORDER BY stored.number;
END
$$;

-- Store one job now; the options are the other fields of a job.
CREATE FUNCTION windlass.enqueue(kind text, args jsonb DEFAULT '{}', options jsonb DEFAULT '{}')
RETURNS uuid
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF kind LIKE '{%' OR kind LIKE '[%' THEN
        RAISE EXCEPTION USING
            ERRCODE = '22023',
            MESSAGE = 'kind looks like JSON: write windlass.enqueue(''…''::jsonb) to hand in whole jobs',
            DETAIL = '/kind',
            COLUMN = 'kind',
            CONSTRAINT = 'valid_job';
    ELSIF jsonb_typeof(options) <> 'object' OR options ?| ARRAY['kind', 'args', 'args_text'] THEN
        RAISE EXCEPTION USING
            ERRCODE = '22023',
            MESSAGE = 'options must be an object without kind and args, which are parameters of their own',
            DETAIL = '/',
            COLUMN = 'options',
            CONSTRAINT = 'valid_job';
    END IF;
    RETURN (
        SELECT stored.job_id
        FROM windlass.enqueue_as_of(
            COALESCE(options, '{}') || jsonb_build_object('kind', kind, 'args', args), NULL
        ) AS stored
    );
END
$$;
