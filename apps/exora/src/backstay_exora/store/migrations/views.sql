DROP VIEW IF EXISTS exora.job_queue;

-- The table of the audit as a view over the engine's jobs: the 38 columns, their names and types.

CREATE OR REPLACE FUNCTION exora.status_word(state text, attempt smallint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE state
        WHEN 'available' THEN 'pending'
        WHEN 'scheduled' THEN CASE WHEN attempt > 0 THEN 'retrying' ELSE 'pending' END
        WHEN 'held' THEN 'deferred'
        WHEN 'running' THEN 'processing'
        WHEN 'completed' THEN 'completed'
        WHEN 'cancelled' THEN 'cancelled'
        ELSE 'failed'
    END
$$;

-- The details that stand as JSON at the end of a message; nothing where there are none, or what stands there is no JSON.
CREATE OR REPLACE FUNCTION exora.details_in(message text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN COALESCE(substring(message FROM 'Details: (\{.*\})$')::jsonb, '{}'::jsonb);
EXCEPTION
    -- A message may be cut, or written by a program that we do not know: one of them must not spoil the whole view.
    WHEN data_exception OR program_limit_exceeded THEN
        RETURN '{}'::jsonb;
END
$$;

-- The error as the audit shows it, with the details of an answer as values.
-- A program that works from SQL has no exception with a code of its own: it gives the code as the error's type.
CREATE OR REPLACE FUNCTION exora.error_details(error json, failed_at timestamptz, worker text, reason text) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN error IS NULL THEN NULL ELSE
        exora.details_in(error ->> 'message') || jsonb_strip_nulls(jsonb_build_object(
            'failed_at', failed_at,
            'worker_id', worker,
            'error_message', error ->> 'message',
            'code', COALESCE(
                error ->> 'code',
                CASE
                    WHEN error ->> 'error_class' = 'crashed' THEN 'HEARTBEAT_LOST'
                    WHEN error ->> 'type' ~ '^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$' THEN error ->> 'type'
                END
            ),
            'dead_letter_reason', reason
        ))
    END
$$;

CREATE VIEW exora.job_queue AS
SELECT
    j.id,
    j.kind::text AS job_type,
    p.job_lane,
    COALESCE(p.job_category, j.args ->> 'job_category', 'standard')::text AS job_category,
    COALESCE(j.name, j.kind)::text AS job_name,
    j.description::text AS job_description,
    j.args::jsonb || COALESCE(j.metadata -> 'job_payload', '{}'::jsonb) AS job_payload,
    COALESCE(j.metadata -> 'job_config', j.policy::jsonb, '{}'::jsonb) AS job_config,
    exora.status_word(j.state, j.attempt) AS status,
    j.run_at AS scheduled_at,
    j.started_at,
    j.finished_at AS completed_at,
    j.priority::integer AS priority,
    NULL::interval AS estimated_duration,
    CASE WHEN j.finished_at IS NOT NULL AND j.started_at IS NOT NULL THEN j.finished_at - j.started_at END AS actual_duration,
    m.peak_rss_mb::integer AS memory_usage_mb,
    (CASE WHEN COALESCE(j.duration_ms, 0) > 0
        THEN LEAST(999.99, round(100.0 * m.cpu_ms / j.duration_ms, 2)) END)::numeric(5, 2) AS cpu_usage_percent,
    -- An attempt that is over and not the last one has a retry behind it, wherever the job waits for it.
    CASE WHEN j.state IN ('scheduled', 'held', 'available') THEN j.attempt ELSE GREATEST(j.attempt - 1, 0) END::integer AS retry_count,
    GREATEST(COALESCE(j.own_max_attempts, j.max_attempts, 4) - 1, 0)::integer AS max_retries,
    make_interval(secs => COALESCE(
        (j.policy #>> '{backoff,base_seconds}')::float8, (k.policy #>> '{backoff,base_seconds}')::float8, 300
    )) AS retry_delay,
    CASE WHEN j.state = 'completed' THEN NULL ELSE j.error ->> 'message' END AS last_error,
    CASE WHEN j.state = 'completed' THEN NULL
        ELSE exora.error_details(j.error, COALESCE(j.finished_at, j.updated_at), COALESCE(j.worker, j.settled_by), d.reason)
    END AS error_details,
    -- A pass is stored together with the end of the one before, which is its parent.
    (SELECT array_agg(e.id ORDER BY e.id) FROM (
        SELECT parent_id AS id FROM backstay.dependencies WHERE job_id = j.id
        UNION SELECT j.parent_id WHERE j.parent_id IS NOT NULL
    ) AS e) AS depends_on,
    (SELECT array_agg(e.id ORDER BY e.id) FROM (
        SELECT job_id AS id FROM backstay.dependencies WHERE parent_id = j.id
        UNION SELECT c.id FROM backstay.jobs AS c WHERE c.parent_id = j.id
    ) AS e) AS blocks_jobs,
    j.correlation_id::text AS job_group,
    COALESCE(j.worker, j.settled_by)::text AS worker_id,
    NULL::text AS processing_node,
    NULL::timestamptz AS lock_acquired_at,
    NULL::timestamptz AS lock_expires_at,
    j.heartbeat_at,
    d.died_at AS dead_letter_at,
    p.patient_id,
    p.shell_file_id,
    p.narrative_id,
    j.result::jsonb AS job_result,
    NULL::text[] AS output_files,
    j.created_at,
    j.updated_at
FROM backstay.jobs AS j
LEFT JOIN backstay.kinds AS k ON k.kind = j.kind
LEFT JOIN backstay.promoted_exora AS p ON p.job_id = j.id
LEFT JOIN backstay.measures AS m ON m.job_id = j.id AND m.lease_epoch = j.settled_epoch
LEFT JOIN LATERAL (
    SELECT l.died_at, l.reason FROM backstay.dead_letters AS l
    WHERE l.job_id = j.id AND j.state IN ('dead', 'resolved')
    ORDER BY l.lease_epoch DESC LIMIT 1
) AS d ON TRUE;

-- A type has one of its lanes, and every other type has none: refused by the database whoever writes.
CREATE OR REPLACE FUNCTION exora.check_lane(job_type text, job_lane text, job_category text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF job_type NOT IN (
        'shell_file_processing', 'ai_processing', 'data_migration', 'audit_cleanup', 'notification_delivery',
        'report_generation', 'backup_operation', 'system_maintenance', 'semantic_processing',
        'consent_verification', 'provider_verification'
    ) THEN
        RAISE EXCEPTION 'job_type % is not one of the eleven types', quote_literal(job_type)
            USING ERRCODE = '22023', DETAIL = 'TYPE_INVALID';
    END IF;
    IF (job_type = 'shell_file_processing' AND (job_lane IS NULL OR job_lane NOT IN ('fast_queue', 'standard_queue')))
        OR (job_type = 'ai_processing' AND (job_lane IS NULL OR job_lane NOT IN ('ai_queue_simple', 'ai_queue_complex')))
        OR (job_type NOT IN ('shell_file_processing', 'ai_processing') AND job_lane IS NOT NULL)
    THEN
        RAISE EXCEPTION 'job_lane % is not allowed for %', COALESCE(quote_literal(job_lane), 'NULL'), job_type
            USING ERRCODE = '22023', DETAIL = 'LANE_INVALID';
    END IF;
    IF job_category NOT IN ('critical', 'high_priority', 'standard', 'background', 'maintenance') THEN
        RAISE EXCEPTION 'job_category % is not one of critical, high_priority, standard, background, maintenance',
            quote_literal(job_category) USING ERRCODE = '22023';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION exora.hold_lane() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    lane text := NEW.args ->> 'job_lane';
BEGIN
    PERFORM exora.check_lane(NEW.kind, lane, COALESCE(NEW.args ->> 'job_category', 'standard'));
    IF lane IS NULL AND NEW.queue IN ('fast_queue', 'standard_queue', 'ai_queue_simple', 'ai_queue_complex') THEN
        RAISE EXCEPTION '% has no lane, and must not wait in that of others: %', NEW.kind, NEW.queue USING ERRCODE = '22023';
    END IF;
    IF lane IS NOT NULL AND lane <> NEW.queue THEN
        RAISE EXCEPTION 'a job of lane % must wait in that queue, not in %', lane, NEW.queue USING ERRCODE = '22023';
    END IF;
    RETURN NEW;
END
$$;

DROP TRIGGER IF EXISTS exora_hold_lane ON backstay.jobs;
CREATE TRIGGER exora_hold_lane BEFORE INSERT ON backstay.jobs
FOR EACH ROW WHEN (NEW.kind IN (
    'shell_file_processing', 'ai_processing', 'data_migration', 'audit_cleanup', 'notification_delivery',
    'report_generation', 'backup_operation', 'system_maintenance', 'semantic_processing',
    'consent_verification', 'provider_verification'
)) EXECUTE FUNCTION exora.hold_lane();

-- The six functions below run with the rights of who migrated: whoever may call them has none on the engine's tables.

-- The engine's policy of one job, from the words of the audit; every other word is refused.
CREATE OR REPLACE FUNCTION exora.policy_of(job_config jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    unknown text;
BEGIN
    SELECT key INTO unknown FROM jsonb_object_keys(job_config) AS key
    WHERE key NOT IN ('timeout_seconds', 'max_retries', 'retry_delay_seconds') LIMIT 1;
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'job_config has no %', quote_literal(unknown)
            USING ERRCODE = '22023', HINT = 'Use timeout_seconds, max_retries and retry_delay_seconds.';
    END IF;
    RETURN NULLIF(jsonb_strip_nulls(jsonb_build_object(
        'timeout_seconds', job_config -> 'timeout_seconds',
        'max_attempts', (job_config ->> 'max_retries')::integer + 1,
        'backoff', CASE WHEN job_config ? 'retry_delay_seconds' THEN jsonb_build_object(
            'base_seconds', job_config -> 'retry_delay_seconds', 'multiplier', 1, 'jitter', 0.2
        ) END
    )), '{}'::jsonb);
END
$$;

-- What is too large for a job waits in tables of its own: the file itself, and the words that were read on it.
CREATE OR REPLACE FUNCTION exora.put_aside(job_payload jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT job_payload ?| ARRAY['raw_file', 'ocr_spatial_data'] THEN
        RETURN;
    END IF;
    IF job_payload ->> 'shell_file_id' IS NULL THEN
        RAISE EXCEPTION 'job_payload has raw_file or ocr_spatial_data but no shell_file_id' USING ERRCODE = '22023';
    END IF;
    IF job_payload ? 'raw_file' THEN
        INSERT INTO exora.staged_files (shell_file_id, content)
        VALUES ((job_payload ->> 'shell_file_id')::uuid, decode(job_payload ->> 'raw_file', 'base64'))
        ON CONFLICT (shell_file_id) DO UPDATE SET content = EXCLUDED.content;
    END IF;
    IF job_payload ? 'ocr_spatial_data' THEN
        INSERT INTO exora.ocr_words (shell_file_id, page, words)
        SELECT (job_payload ->> 'shell_file_id')::uuid, (page ->> 'page')::integer, page -> 'words'
        FROM jsonb_array_elements(job_payload -> 'ocr_spatial_data') AS page
        ON CONFLICT (shell_file_id, page) DO UPDATE SET words = EXCLUDED.words;
    END IF;
END
$$;

-- The lane of a job whose sender named none: by the size, as far as the payload tells it.
CREATE OR REPLACE FUNCTION exora.lane_of(job_type text, job_payload jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE job_type
        WHEN 'ai_processing' THEN CASE
            WHEN (job_payload ->> 'estimated_tokens')::numeric > 8000 THEN 'ai_queue_complex' ELSE 'ai_queue_simple'
        END
        WHEN 'shell_file_processing' THEN 'standard_queue'
    END
$$;

DROP FUNCTION IF EXISTS exora.enqueue_job_v3(text, text, jsonb, text, integer, timestamptz, text);
CREATE OR REPLACE FUNCTION exora.enqueue_job_v3(
    job_type text,
    job_name text,
    job_payload jsonb,
    job_category text DEFAULT 'standard',
    priority integer DEFAULT 5,
    p_scheduled_at timestamptz DEFAULT now(),
    p_job_lane text DEFAULT NULL,
    p_job_config jsonb DEFAULT '{}'
) RETURNS TABLE (job_id uuid, scheduled_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lane text := COALESCE(p_job_lane, job_payload ->> 'job_lane');
    payload jsonb;
    options jsonb;
    new_id uuid;
BEGIN
    IF job_payload IS NULL OR job_payload = '{}'::jsonb THEN
        RAISE EXCEPTION 'job_payload must not be empty' USING ERRCODE = '22023';
    END IF;
    IF lane IS NULL THEN
        lane := exora.lane_of(job_type, job_payload);
    END IF;
    PERFORM exora.check_lane(job_type, lane, job_category);
    PERFORM exora.put_aside(job_payload);
    payload := (job_payload - 'raw_file' - 'ocr_spatial_data' - 'document_metadata')
        || jsonb_build_object('job_category', job_category)
        || CASE WHEN lane IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('job_lane', lane) END;
    options := jsonb_strip_nulls(jsonb_build_object(
        'name', job_name,
        'priority', priority,
        'queue', lane,
        'correlation_id', job_payload ->> 'correlation_id',
        'policy', exora.policy_of(p_job_config),
        'metadata', NULLIF(jsonb_strip_nulls(jsonb_build_object(
            'job_payload', CASE WHEN job_payload ? 'document_metadata' THEN
                jsonb_build_object('document_metadata', job_payload -> 'document_metadata') END,
            'job_config', NULLIF(p_job_config, '{}'::jsonb)
        )), '{}'::jsonb),
        'delay_seconds', CASE WHEN p_scheduled_at > now() THEN EXTRACT(EPOCH FROM p_scheduled_at - now()) END
    ));
    new_id := backstay.enqueue(job_type, payload, options);
    RETURN QUERY SELECT j.id, j.run_at FROM backstay.jobs AS j WHERE j.id = new_id;
END
$$;

-- The worker is entered with its first claim, and its sign of life is every claim and every beat.
-- What it did not beat for is taken back by the engine, which runs beside: an attempt more, or a dead letter.
CREATE OR REPLACE FUNCTION exora.claim_next_job_v3(
    p_worker_id text, p_job_types text[] DEFAULT NULL, p_job_lanes text[] DEFAULT NULL
) RETURNS TABLE (job_id uuid, job_type text, job_payload jsonb, retry_count integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    types text[] := COALESCE(p_job_types, (
        SELECT array_agg(k.kind) FROM backstay.kinds AS k
        WHERE k.kind IN (
            'shell_file_processing', 'ai_processing', 'data_migration', 'audit_cleanup', 'notification_delivery',
            'report_generation', 'backup_operation', 'system_maintenance', 'semantic_processing',
            'consent_verification', 'provider_verification'
        )
    ));
BEGIN
    IF COALESCE(p_worker_id, '') IN ('', 'undefined', 'None') OR p_worker_id LIKE '%${%' THEN
        RAISE EXCEPTION 'p_worker_id % names no worker', COALESCE(quote_literal(p_worker_id), 'NULL')
            USING ERRCODE = '22023', HINT = 'Give each process a name of its own, with its variables filled in.';
    END IF;
    IF NOT backstay.worker_beat(p_worker_id) THEN
        PERFORM backstay.worker_start(p_worker_id, types, COALESCE(p_job_lanes, '{}'));
    END IF;
    RETURN QUERY
    SELECT c.id, c.kind, c.args::jsonb, c.attempt - 1
    FROM backstay.claim(p_worker_id, types, p_job_lanes, 1) AS c;
END
$$;

CREATE OR REPLACE FUNCTION exora.update_job_heartbeat(p_job_id uuid, p_worker_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM backstay.worker_beat(p_worker_id);
    RETURN (SELECT r.held FROM backstay.renew(p_job_id, backstay.epoch_of(p_job_id, p_worker_id)) AS r);
END
$$;

CREATE OR REPLACE FUNCTION exora.complete_job(p_job_id uuid, p_worker_id text, p_job_result jsonb DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held integer := backstay.epoch_of(p_job_id, p_worker_id);
BEGIN
    RETURN held IS NOT NULL AND backstay.complete(p_job_id, held, p_job_result::json);
END
$$;

-- Codes that another attempt cannot heal, as the table of errors has them; every other code of the table is tried again.
CREATE OR REPLACE FUNCTION exora.error_class_of(code text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF code IN (
        'AI_REFUSED', 'FILE_MISSING', 'BAD_FILE', 'MAIL_REFUSED', 'CONSENT_MISSING', 'PROVIDER_UNKNOWN', 'BAD_REQUEST'
    ) THEN
        RETURN 'exora_final';
    END IF;
    IF code NOT IN (
        'AI_TRUNCATED', 'AI_EMPTY', 'AI_RATE_LIMIT', 'AI_HTTP_5XX', 'AI_TIMEOUT', 'AI_BAD_JSON', 'OCR_FAILED',
        'HEARTBEAT_LOST', 'STORAGE_UNAVAILABLE', 'MAIL_UNREACHABLE', 'REGISTRY_UNAVAILABLE', 'BACKUP_FAILED'
    ) THEN
        RAISE EXCEPTION 'p_code % is not a code of the table of errors', quote_literal(code)
            USING ERRCODE = '22023', HINT = 'Leave it out where none fits: the job is tried again.';
    END IF;
    RETURN 'exora_passing';
END
$$;

-- Whether the job is tried again, when, and when it becomes a dead letter is decided by the rules for every other job;
-- the database's clock stamps it. p_details are those of the answer: finish_reason, choices_length, model and so on.
CREATE OR REPLACE FUNCTION exora.fail_job(
    p_job_id uuid, p_worker_id text, p_error_message text, p_code text DEFAULT NULL, p_details jsonb DEFAULT NULL,
    p_retry_in interval DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held integer := backstay.epoch_of(p_job_id, p_worker_id);
BEGIN
    IF COALESCE(p_error_message, '') = '' THEN
        RAISE EXCEPTION 'p_error_message must say what went wrong' USING ERRCODE = '22023';
    END IF;
    RETURN held IS NOT NULL AND backstay.fail(
        p_job_id,
        held,
        p_error_message || COALESCE(' Details: ' || p_details::text, ''),
        CASE WHEN p_code IS NULL THEN 'exora_passing' ELSE exora.error_class_of(p_code) END,
        COALESCE(p_code, 'Error'),
        p_retry_in
    );
END
$$;

-- Puts a job off that is being worked on, because the provider asked for it; no attempt is counted.
CREATE OR REPLACE FUNCTION exora.reschedule_job(
    p_job_id uuid, p_delay_seconds integer, p_reason text, p_add_jitter boolean DEFAULT TRUE
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    holder text := (SELECT q.worker_id FROM exora.job_queue AS q WHERE q.id = p_job_id AND q.status = 'processing');
    held integer := backstay.epoch_of(p_job_id, holder);
    share double precision := CASE WHEN p_add_jitter THEN 1 + 0.2 * random() ELSE 1 END;
BEGIN
    IF p_delay_seconds IS NULL OR p_delay_seconds < 0 THEN
        RAISE EXCEPTION 'p_delay_seconds must be 0 or more' USING ERRCODE = '22023';
    END IF;
    IF COALESCE(p_reason, '') = '' THEN
        RAISE EXCEPTION 'p_reason must say why the job is put off' USING ERRCODE = '22023';
    END IF;
    IF held IS NULL OR NOT backstay.snooze(p_job_id, held, make_interval(secs => p_delay_seconds * share)) THEN
        RETURN FALSE;
    END IF;
    INSERT INTO exora.audit_log (practice_id, actor, action, subject, reason)
    SELECT COALESCE(s.practice_id, ''), holder, 'job.rescheduled', p_job_id::text, p_reason
    FROM exora.job_queue AS q
    LEFT JOIN exora.shell_files AS s ON s.id = q.shell_file_id
    WHERE q.id = p_job_id;
    RETURN TRUE;
END
$$;

-- Only the service sees jobs and clinical tables; a practice's people see where their documents stand.
REVOKE ALL ON SCHEMA exora FROM PUBLIC, authenticated, anon;
REVOKE ALL ON ALL TABLES IN SCHEMA exora FROM PUBLIC, authenticated, anon;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA exora FROM PUBLIC, authenticated, anon;
GRANT USAGE ON SCHEMA exora TO service_role, authenticated;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA exora TO service_role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA exora TO service_role;
GRANT EXECUTE ON FUNCTION exora.current_practice TO authenticated;
GRANT SELECT (id, practice_id, patient_id, filename, status, page_count, uploaded_at) ON exora.shell_files TO authenticated;
