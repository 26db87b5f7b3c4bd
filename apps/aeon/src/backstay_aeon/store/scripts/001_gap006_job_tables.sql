-- The five tables and three functions of the job service, by their names and columns, over the engine's own tables.
-- Safe to run as often as you like and from several sessions at once: psql -f 001_gap006_job_tables.sql
-- It needs the engine's tables, which `backstay-aeon migrate` makes before it runs this file.
BEGIN;

SELECT pg_advisory_xact_lock(600100601);

DO $$
BEGIN
    IF to_regclass('backstay.promoted_aeon') IS NULL OR to_regclass('aeon.schedule_rows') IS NULL THEN
        RAISE EXCEPTION 'the tables of the engine are missing: run backstay-aeon migrate first';
    END IF;
    BEGIN
        CREATE ROLE aeon_app NOLOGIN NOBYPASSRLS;
    EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL;
        WHEN insufficient_privilege THEN RAISE NOTICE 'role aeon_app is missing and may not be made here';
    END;
END $$;

-- Jobs -----------------------------------------------------------------------------------------------------------

CREATE OR REPLACE VIEW public.jobs AS
SELECT
    job.id,
    job.kind::varchar(100) AS job_type,
    COALESCE(own.job_category, 'general')::varchar(50) AS job_category,
    (11 - job.priority)::integer AS priority,
    COALESCE(job.args -> 'payload', '{}')::jsonb AS payload,
    job.result::jsonb AS result,
    CASE WHEN job.error IS NULL THEN NULL ELSE jsonb_build_object(
        'error_code', job.error ->> 'error_class',
        'error_message', job.error ->> 'message',
        'error_type', job.error ->> 'type',
        'failed_at', COALESCE(job.finished_at, job.updated_at),
        'worker_id', COALESCE(job.worker, job.settled_by)
    ) END AS error_details,
    CASE
        WHEN job.state = 'available' AND announced.job_id IS NOT NULL THEN 'queued'
        WHEN job.state IN ('scheduled', 'available') THEN 'pending'
        WHEN job.state = 'held' AND job.reason IN ('paused', 'tenant paused') THEN 'paused'
        WHEN job.state = 'held' THEN 'pending'
        WHEN job.state = 'dead' THEN 'dead_letter'
        WHEN job.state = 'resolved' THEN 'failed'
        ELSE job.state
    END::varchar(50) AS status,
    CASE
        WHEN job.state = 'completed' THEN 100
        WHEN progress.total > 0 THEN LEAST(100, GREATEST(0, floor(100 * progress.current / progress.total)))
        ELSE 0
    END::integer AS progress_percent,
    progress.message AS progress_message,
    GREATEST(COALESCE(job.max_attempts, job.own_max_attempts, 4) - 1, job.attempt - 1, 0)::integer AS max_retries,
    CASE
        WHEN job.state = 'scheduled' THEN job.attempt
        ELSE GREATEST(job.attempt - 1, 0)
    END::integer AS retry_count,
    COALESCE((job.policy -> 'backoff' ->> 'base_seconds')::numeric * 1000, 1000)::integer AS retry_delay_ms,
    COALESCE((job.policy -> 'backoff' ->> 'multiplier')::numeric, 2.0)::numeric(5, 2) AS backoff_multiplier,
    COALESCE(extract(epoch FROM COALESCE(job.own_timeout, job.timeout)) * 1000, 300000)::integer AS timeout_ms,
    job.created_at,
    job.updated_at,
    announced.at AS queued_at,
    job.started_at,
    CASE WHEN job.state IN ('completed', 'cancelled') THEN job.finished_at END AS completed_at,
    CASE WHEN job.state IN ('dead', 'resolved') THEN job.finished_at END AS failed_at,
    own.created_by,
    CASE WHEN job.tenant ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN job.tenant::uuid END AS team_id,
    job.parent_id AS parent_job_id,
    timetable.id AS schedule_id,
    CASE WHEN COALESCE(job.first_due_at, job.run_at) > job.created_at
         THEN COALESCE(job.first_due_at, job.run_at) END AS scheduled_for,
    ARRAY(SELECT jsonb_array_elements_text(COALESCE(job.tags, '[]'))) AS tags,
    COALESCE(job.metadata, '{}') AS metadata,
    COALESCE(job.worker, job.settled_by)::varchar(255) AS worker_id,
    hands.host::varchar(255) AS execution_node
FROM backstay.jobs AS job
LEFT JOIN backstay.promoted_aeon AS own ON own.job_id = job.id
LEFT JOIN backstay.progress AS progress ON progress.job_id = job.id
LEFT JOIN backstay.workers AS hands ON hands.id = COALESCE(job.worker, job.settled_by)
LEFT JOIN aeon.announced AS announced ON announced.job_id = job.id
LEFT JOIN backstay.fires AS fire ON fire.job_id = job.id
LEFT JOIN backstay.schedules AS rule ON rule.id = fire.schedule_id
LEFT JOIN aeon.schedule_rows AS timetable ON timetable.id::text = split_part(rule.name, '.', 1);

-- A row becomes a job of the engine. What is left out is no wish: it stays NULL and the job type decides.
CREATE OR REPLACE FUNCTION aeon.insert_job()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    level integer := COALESCE(NEW.priority, 5);
    own_queue text;
    policy jsonb := '{}';
    options jsonb;
BEGIN
    IF COALESCE(NEW.status, 'pending') <> 'pending' THEN
        RAISE EXCEPTION 'a new job is pending, not %: leave status out', NEW.status USING ERRCODE = '22023';
    ELSIF level NOT BETWEEN 1 AND 10 THEN
        RAISE EXCEPTION 'priority must be from 1 to 10, not %', level USING ERRCODE = '23514';
    ELSIF length(NEW.job_category) > 50 THEN
        RAISE EXCEPTION 'job_category has at most 50 characters' USING ERRCODE = '22001';
    END IF;
    SELECT kinds.queue INTO own_queue FROM backstay.kinds AS kinds WHERE kinds.kind = NEW.job_type;
    IF own_queue IS NULL THEN
        RAISE EXCEPTION 'no worker has made the job type % known: see SELECT kind FROM backstay.kinds', NEW.job_type
            USING ERRCODE = '22023';
    END IF;
    IF NEW.max_retries IS NOT NULL THEN
        policy := policy || jsonb_build_object('max_attempts', NEW.max_retries + 1);
    END IF;
    IF NEW.timeout_ms IS NOT NULL THEN
        policy := policy || jsonb_build_object('timeout_seconds', NEW.timeout_ms / 1000.0);
    END IF;
    IF NEW.retry_delay_ms IS NOT NULL OR NEW.backoff_multiplier IS NOT NULL THEN
        policy := policy || jsonb_build_object('backoff', jsonb_build_object(
            'base_seconds', COALESCE(NEW.retry_delay_ms, 1000) / 1000.0,
            'multiplier', COALESCE(NEW.backoff_multiplier, 2.0), 'cap_seconds', NULL, 'jitter', 0.2));
    END IF;
    options := jsonb_strip_nulls(jsonb_build_object(
        'id', NEW.id, 'tenant', NEW.team_id::text, 'created_by', NEW.created_by::text, 'run_at', to_char(
            NEW.scheduled_for AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'),
        'parent_id', NEW.parent_job_id)) || jsonb_build_object(
        'priority', 11 - level, 'tags', to_jsonb(COALESCE(NEW.tags, '{}')),
        'metadata', COALESCE(NEW.metadata, '{}'),
        'queue', CASE WHEN level >= 8 THEN own_queue || '.urgent' ELSE own_queue END)
        || CASE WHEN policy = '{}' THEN '{}' ELSE jsonb_build_object('policy', policy) END;
    NEW.id := backstay.enqueue(NEW.job_type::text, jsonb_strip_nulls(jsonb_build_object(
        'payload', COALESCE(NEW.payload, '{}'), 'created_by', NEW.created_by,
        'job_category', COALESCE(NEW.job_category, 'general'))), options);
    SELECT * INTO NEW FROM public.jobs WHERE id = NEW.id;
    RETURN NEW;
END $$;

-- What may be changed by plain SQL: status to cancelled, paused or (from paused) pending, and the priority.
CREATE OR REPLACE FUNCTION aeon.change_job()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    at timestamptz := clock_timestamp();
    changed uuid;
    now_in text;
BEGIN
    IF (to_jsonb(NEW) - ARRAY['status', 'priority']) <> (to_jsonb(OLD) - ARRAY['status', 'priority']) THEN
        RAISE EXCEPTION 'of a job only status and priority can be changed: send other changes as a new job'
            USING ERRCODE = '0A000';
    END IF;
    IF NEW.priority IS DISTINCT FROM OLD.priority THEN
        IF NEW.priority IS NULL OR NEW.priority NOT BETWEEN 1 AND 10 THEN
            RAISE EXCEPTION 'priority must be from 1 to 10, not %', NEW.priority USING ERRCODE = '23514';
        END IF;
        UPDATE backstay.jobs AS job
        SET priority = 11 - NEW.priority,
            turn = job.run_at + (6 - NEW.priority) * interval '365 days',
            -- Priority workers read the urgent queues alone.
            queue = regexp_replace(job.queue, '\.urgent$', '') || CASE WHEN NEW.priority >= 8 THEN '.urgent' ELSE '' END,
            updated_at = at
        WHERE job.id = OLD.id AND job.state IN ('scheduled', 'held', 'available')
        RETURNING id, queue INTO changed, now_in;
        IF changed IS NULL THEN
            RAISE EXCEPTION 'job % has started: its priority cannot be changed any more', OLD.id
                USING ERRCODE = '55000';
        END IF;
        PERFORM backstay.notify_workers(ARRAY['queue:' || now_in]);
    END IF;
    IF NEW.status IS DISTINCT FROM OLD.status THEN
        PERFORM aeon.set_status(OLD.id, NEW.status, at);
    END IF;
    SELECT * INTO NEW FROM public.jobs WHERE id = OLD.id;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION aeon.set_status(of_job uuid, wanted text, at timestamptz)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    was backstay.jobs;
    now_state text;
BEGIN
    SELECT * INTO was FROM backstay.jobs WHERE id = of_job FOR UPDATE;
    IF wanted = 'cancelled' AND was.state IN ('scheduled', 'held', 'available') THEN
        UPDATE backstay.jobs
        SET state = 'cancelled', reason = 'cancelled by SQL', cancel_requested_at = COALESCE(cancel_requested_at, at),
            cancel_reason = COALESCE(cancel_reason, 'cancelled by SQL'), finished_at = at, updated_at = at
        WHERE id = of_job;
        now_state := 'cancelled';
    ELSIF wanted = 'cancelled' AND was.state = 'running' THEN
        UPDATE backstay.jobs
        SET cancel_requested_at = COALESCE(cancel_requested_at, at),
            cancel_reason = COALESCE(cancel_reason, 'cancelled by SQL'), updated_at = at
        WHERE id = of_job;
        now_state := 'running';
    ELSIF wanted = 'paused' AND was.state IN ('scheduled', 'available') THEN
        UPDATE backstay.jobs SET state = 'held', reason = 'paused', parked_for = NULL, updated_at = at
        WHERE id = of_job;
        now_state := 'held';
    ELSIF wanted = 'pending' AND was.state = 'held' AND was.reason = 'paused' THEN
        now_state := CASE WHEN was.run_at <= at THEN 'available' ELSE 'scheduled' END;
        UPDATE backstay.jobs SET state = now_state, reason = NULL, updated_at = at WHERE id = of_job;
        PERFORM backstay.notify_workers(ARRAY['queue:' || was.queue]);
    ELSE
        RAISE EXCEPTION 'job % is %: its status cannot be set to % here; cancel and pause waiting jobs, resume paused '
            'ones, and use POST /api/jobs/%/retry for dead ones', of_job, was.state, wanted, of_job
            USING ERRCODE = '55000';
    END IF;
    INSERT INTO backstay.audit (at, tenant, job_id, actor, action, from_state, to_state, reason)
    VALUES (at, was.tenant, of_job, session_user, 'job.changed', was.state, now_state, 'by SQL');
END $$;

CREATE OR REPLACE FUNCTION aeon.refuse()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = '0A000';
END $$;

CREATE OR REPLACE TRIGGER insert_job INSTEAD OF INSERT ON public.jobs
FOR EACH ROW EXECUTE FUNCTION aeon.insert_job();
CREATE OR REPLACE TRIGGER change_job INSTEAD OF UPDATE ON public.jobs
FOR EACH ROW EXECUTE FUNCTION aeon.change_job();
CREATE OR REPLACE TRIGGER keep_job INSTEAD OF DELETE ON public.jobs
FOR EACH ROW EXECUTE FUNCTION aeon.refuse('cancel it with UPDATE jobs SET status = ''cancelled''; ended jobs are archived after 30 days');

-- Executions -----------------------------------------------------------------------------------------------------

CREATE OR REPLACE VIEW public.job_executions AS
SELECT
    md5(run.id)::uuid AS id,
    run.job_id,
    run.attempt_number,
    CASE run.status
        WHEN 'crashed' THEN 'failed'
        WHEN 'released' THEN 'cancelled'
        WHEN 'snoozed' THEN 'cancelled'
        ELSE run.status
    END::varchar(50) AS status,
    run.started_at,
    run.completed_at,
    run.duration_ms::integer AS duration_ms,
    CASE WHEN run.status = 'completed' THEN job.result::jsonb END AS result,
    CASE WHEN run.status NOT IN ('started', 'completed') THEN run.error_message END AS error_message,
    CASE WHEN run.status NOT IN ('started', 'completed') THEN run.error ->> 'traceback' END AS error_stack,
    CASE WHEN run.status NOT IN ('started', 'completed') THEN run.error_class END::varchar(100) AS error_code,
    COALESCE(run.worker_id, job.settled_by)::varchar(255) AS worker_id,
    run.host::varchar(255) AS execution_node,
    run.peak_rss_mb AS memory_used_mb,
    run.cpu_ms::integer AS cpu_time_ms,
    CASE WHEN run.status IN ('crashed', 'released', 'snoozed') THEN jsonb_build_object('ended', run.status)
         ELSE '{}' END AS metadata
FROM backstay.job_executions AS run
JOIN backstay.jobs AS job ON job.id = run.job_id;

CREATE OR REPLACE TRIGGER keep_execution INSTEAD OF INSERT OR UPDATE OR DELETE ON public.job_executions
FOR EACH ROW EXECUTE FUNCTION aeon.refuse('workers write it when they run a job');

-- Dependencies ---------------------------------------------------------------------------------------------------

CREATE OR REPLACE VIEW public.job_dependencies AS
SELECT
    md5(tie.job_id::text || tie.parent_id::text || tie.place)::uuid AS id,
    tie.job_id,
    tie.parent_id AS depends_on_job_id,
    tie.type::varchar(50) AS dependency_type,
    tie.condition::jsonb AS condition,
    COALESCE(tie.verdict IN ('met', 'run', 'void'), FALSE) AS satisfied,
    CASE WHEN tie.verdict IN ('met', 'run', 'void') THEN tie.decided_at END AS satisfied_at,
    child.created_at,
    jsonb_build_object('place', tie.place, 'on_failure', tie.on_failure, 'verdict', tie.verdict) AS metadata
FROM backstay.dependencies AS tie
JOIN backstay.jobs AS child ON child.id = tie.job_id;

CREATE OR REPLACE FUNCTION aeon.change_dependency()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    child backstay.jobs;
    parent backstay.jobs;
    circle text;
    kind text;
BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        DELETE FROM backstay.dependencies
        WHERE job_id = OLD.job_id AND parent_id = OLD.depends_on_job_id AND verdict IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the dependency of % on % is decided and stays', OLD.job_id, OLD.depends_on_job_id
                USING ERRCODE = '55000';
        END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
        PERFORM aeon.go_on(OLD.job_id);
        RETURN OLD;
    END IF;
    kind := COALESCE(NEW.dependency_type, 'completion');
    IF NEW.job_id = NEW.depends_on_job_id THEN
        RAISE EXCEPTION 'job % cannot depend on itself', NEW.job_id USING ERRCODE = '23514';
    END IF;
    SELECT * INTO child FROM backstay.jobs WHERE id = NEW.job_id FOR UPDATE;
    SELECT * INTO parent FROM backstay.jobs WHERE id = NEW.depends_on_job_id;
    IF child.id IS NULL OR parent.id IS NULL OR child.tenant <> parent.tenant THEN
        RAISE EXCEPTION 'there is no job %', CASE WHEN child.id IS NULL THEN NEW.job_id ELSE NEW.depends_on_job_id END
            USING ERRCODE = '23503';
    ELSIF child.state NOT IN ('scheduled', 'held', 'available') THEN
        RAISE EXCEPTION 'job % is % and cannot wait for another any more', NEW.job_id, child.state
            USING ERRCODE = '55000';
    END IF;
    WITH RECURSIVE above (id, way) AS (
        SELECT NEW.depends_on_job_id, ARRAY[NEW.job_id, NEW.depends_on_job_id]
        UNION ALL
        SELECT tie.parent_id, above.way || tie.parent_id
        FROM backstay.dependencies AS tie JOIN above ON tie.job_id = above.id
        WHERE tie.parent_id = NEW.job_id OR NOT tie.parent_id = ANY (above.way)
    )
    SELECT array_to_string(way, ' → ') INTO circle FROM above WHERE id = NEW.job_id LIMIT 1;
    IF circle IS NOT NULL THEN
        RAISE EXCEPTION 'these jobs would wait for each other: %', circle USING ERRCODE = '23514';
    END IF;
    INSERT INTO backstay.dependencies (job_id, parent_id, place, type, condition, on_failure)
    VALUES (
        NEW.job_id, NEW.depends_on_job_id,
        CASE WHEN kind = 'data' THEN '/payload/' || COALESCE(NEW.condition ->> 'into', 'input') ELSE '' END,
        kind, CASE WHEN kind = 'conditional' THEN NEW.condition::json END,
        CASE WHEN kind = 'completion' THEN 'run' ELSE 'cancel' END);
    IF child.state <> 'held' THEN
        UPDATE backstay.jobs SET state = 'held', reason = 'waits for its parents', updated_at = clock_timestamp()
        WHERE id = NEW.job_id;
    END IF;
    SELECT * INTO NEW FROM public.job_dependencies
    WHERE job_id = NEW.job_id AND depends_on_job_id = NEW.depends_on_job_id;
    RETURN NEW;
END $$;

-- Let a job that waits for nobody any more go on.
CREATE OR REPLACE FUNCTION aeon.go_on(of_job uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE backstay.jobs AS job
    SET state = CASE WHEN job.run_at <= clock_timestamp() THEN 'available' ELSE 'scheduled' END,
        reason = NULL, updated_at = clock_timestamp()
    WHERE job.id = of_job AND job.state = 'held' AND job.reason = 'waits for its parents'
      AND NOT EXISTS (SELECT 1 FROM backstay.dependencies WHERE job_id = of_job AND verdict IS NULL);
END $$;

CREATE OR REPLACE TRIGGER change_dependency INSTEAD OF INSERT OR UPDATE OR DELETE ON public.job_dependencies
FOR EACH ROW EXECUTE FUNCTION aeon.change_dependency();

-- Schedules ------------------------------------------------------------------------------------------------------

CREATE OR REPLACE VIEW public.job_schedules AS
SELECT
    own.id, own.name, own.job_type, own.payload_template, own.schedule_type, own.cron_expression, own.interval_ms,
    own.enabled,
    rule.last_fire_at AS last_run_at,
    CASE WHEN NOT own.enabled THEN NULL WHEN rule.known = 0 THEN own.run_at ELSE rule.next_fire_at END AS next_run_at,
    rule.run_count,
    own.max_runs, own.expires_at, own.created_by, own.team_id, own.created_at, own.updated_at,
    own.metadata || CASE WHEN own.problem IS NULL THEN '{}' ELSE jsonb_build_object('problem', own.problem) END
        AS metadata
FROM aeon.schedule_rows AS own
-- Each change of what it makes is another schedule of the engine, named after the row with a number behind it.
CROSS JOIN LATERAL (
    SELECT count(*) AS known, COALESCE(sum(one.run_count), 0)::integer AS run_count,
        max(one.last_fire_at) AS last_fire_at, max(one.next_fire_at) FILTER (WHERE one.is_active) AS next_fire_at
    FROM backstay.schedules AS one
    WHERE one.tenant = COALESCE(own.team_id::text, '')
      AND (one.name = own.id::text OR one.name LIKE own.id::text || '.%')
) AS rule;

-- The row is kept here; a job of ours tells the engine, which reckons the times.
CREATE OR REPLACE FUNCTION aeon.change_schedule()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM aeon.schedule_rows WHERE id = OLD.id;
    ELSIF TG_OP = 'INSERT' THEN
        NEW.id := COALESCE(NEW.id, gen_random_uuid());
        INSERT INTO aeon.schedule_rows (
            id, name, job_type, payload_template, schedule_type, cron_expression, interval_ms, run_at, enabled,
            max_runs, expires_at, created_by, team_id, metadata)
        VALUES (
            NEW.id, NEW.name, NEW.job_type, COALESCE(NEW.payload_template, '{}'), NEW.schedule_type,
            NEW.cron_expression, NEW.interval_ms, NEW.next_run_at, COALESCE(NEW.enabled, TRUE), NEW.max_runs,
            NEW.expires_at, NEW.created_by, NEW.team_id, COALESCE(NEW.metadata, '{}'));
    ELSE
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'the id of a schedule stays' USING ERRCODE = '0A000';
        END IF;
        UPDATE aeon.schedule_rows AS own
        SET name = NEW.name, job_type = NEW.job_type, payload_template = NEW.payload_template,
            schedule_type = NEW.schedule_type, cron_expression = NEW.cron_expression, interval_ms = NEW.interval_ms,
            run_at = CASE WHEN NEW.schedule_type = 'once' THEN COALESCE(NEW.next_run_at, own.run_at) ELSE own.run_at END,
            enabled = NEW.enabled, max_runs = NEW.max_runs, expires_at = NEW.expires_at, metadata = NEW.metadata,
            updated_at = clock_timestamp(), problem = NULL
        WHERE own.id = OLD.id;
    END IF;
    PERFORM backstay.enqueue('sync_schedule', jsonb_build_object(
        'schedule_id', CASE WHEN TG_OP = 'DELETE' THEN OLD.id ELSE NEW.id END,
        'team_id', CASE WHEN TG_OP = 'DELETE' THEN OLD.team_id ELSE NEW.team_id END));
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    SELECT * INTO NEW FROM public.job_schedules WHERE id = NEW.id;
    RETURN NEW;
END $$;

-- Its user is gone (by the foreign key): the engine must not make jobs in their name any more.
CREATE OR REPLACE FUNCTION aeon.forget_creator()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM backstay.enqueue('sync_schedule', jsonb_build_object('schedule_id', NEW.id, 'team_id', NEW.team_id));
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER forget_creator AFTER UPDATE OF created_by ON aeon.schedule_rows
FOR EACH ROW WHEN (OLD.created_by IS DISTINCT FROM NEW.created_by) EXECUTE FUNCTION aeon.forget_creator();

CREATE OR REPLACE TRIGGER change_schedule INSTEAD OF INSERT OR UPDATE OR DELETE ON public.job_schedules
FOR EACH ROW EXECUTE FUNCTION aeon.change_schedule();

-- Dead letters ---------------------------------------------------------------------------------------------------

CREATE OR REPLACE VIEW public.dead_letter_jobs AS
SELECT
    md5(letter.job_id::text || '/' || letter.lease_epoch)::uuid AS id,
    letter.job_id AS original_job_id,
    letter.kind::varchar(100) AS job_type,
    COALESCE(job.args -> 'payload', '{}')::jsonb AS payload,
    COALESCE(letter.error ->> 'error_class', letter.reason) AS failure_reason,
    letter.error ->> 'message' AS final_error_message,
    letter.error ->> 'traceback' AS final_error_stack,
    letter.attempts AS total_attempts,
    (
        SELECT jsonb_agg(jsonb_build_object(
            'attempt_number', run.run, 'status', run.status, 'started_at', run.started_at,
            'completed_at', run.finished_at, 'duration_ms', run.duration_ms, 'worker_id', run.worker,
            'error_code', run.error ->> 'error_class', 'error_message', run.error ->> 'message') ORDER BY run.run)
        FROM backstay.attempts AS run
        WHERE run.job_id = letter.job_id AND run.lease_epoch <= letter.lease_epoch
    ) AS execution_history,
    CASE letter.status WHEN 'new' THEN 'pending' WHEN 'retried' THEN 'resolved' ELSE letter.status END::varchar(50)
        AS status,
    CASE letter.status WHEN 'retried' THEN 'retried: ' || letter.resolution
         ELSE COALESCE(letter.resolution, letter.note) END AS resolution_notes,
    person.id AS resolved_by,
    letter.resolved_at,
    CASE WHEN letter.tenant ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN letter.tenant::uuid END AS team_id,
    letter.died_at AS created_at,
    jsonb_build_object('reason', letter.reason, 'owner', letter.owner, 'version', letter.version) AS metadata
FROM backstay.dead_letters AS letter
JOIN backstay.jobs AS job ON job.id = letter.job_id
LEFT JOIN public.users AS person ON person.id::text = letter.resolved_by;

CREATE OR REPLACE TRIGGER keep_letter INSTEAD OF INSERT OR UPDATE OR DELETE ON public.dead_letter_jobs
FOR EACH ROW EXECUTE FUNCTION aeon.refuse('decide with POST /api/dlq/{id}/retry, /investigate, /resolve or /ignore');

-- A team takes its jobs and schedules with it; a user does not (created_by becomes NULL by its foreign key).
CREATE OR REPLACE FUNCTION aeon.forget_team()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM backstay.schedules WHERE tenant = OLD.id::text;
    DELETE FROM backstay.jobs WHERE tenant = OLD.id::text;
    RETURN OLD;
END $$;

CREATE OR REPLACE TRIGGER forget_team AFTER DELETE ON public.teams
FOR EACH ROW EXECUTE FUNCTION aeon.forget_team();

-- Functions ------------------------------------------------------------------------------------------------------

-- A look at what could run now, best first. It takes no lock: a lock would hide these jobs from the workers.
CREATE OR REPLACE FUNCTION public.get_ready_jobs(p_limit integer DEFAULT 10, p_job_types text[] DEFAULT NULL)
RETURNS TABLE (job_id uuid, job_type varchar, priority integer, payload jsonb)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT job.id, job.kind::varchar, (11 - job.priority)::integer, COALESCE(job.args -> 'payload', '{}')::jsonb
    FROM backstay.jobs AS job
    WHERE (job.state = 'available' OR job.state = 'scheduled' AND job.run_at <= statement_timestamp())
      AND (p_job_types IS NULL OR job.kind = ANY (p_job_types))
      AND job.args -> 'payload' IS NOT NULL
    ORDER BY job.priority, job.created_at, job.id
    LIMIT p_limit
$$;

CREATE OR REPLACE FUNCTION public.check_dependencies_satisfied(p_job_id uuid)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT 1 FROM public.job_dependencies WHERE job_id = p_job_id AND NOT satisfied
    )
$$;

-- Counts of what was created and of what ended are those of the window; pending and running are those of now.
CREATE OR REPLACE FUNCTION public.get_job_statistics(
    p_team_id uuid DEFAULT NULL, p_time_window interval DEFAULT '24 hours'
)
RETURNS TABLE (
    total_jobs bigint, pending_jobs bigint, running_jobs bigint, completed_jobs bigint, failed_jobs bigint,
    dead_letter_jobs bigint, avg_duration_ms numeric
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT
        count(*) FILTER (WHERE created_at >= statement_timestamp() - p_time_window),
        count(*) FILTER (WHERE state IN ('scheduled', 'available', 'held')),
        count(*) FILTER (WHERE state = 'running'),
        count(*) FILTER (WHERE state = 'completed' AND finished_at >= statement_timestamp() - p_time_window),
        count(*) FILTER (WHERE state = 'resolved' AND finished_at >= statement_timestamp() - p_time_window),
        count(*) FILTER (WHERE state = 'dead' AND finished_at >= statement_timestamp() - p_time_window),
        COALESCE(round(avg(extract(epoch FROM finished_at - started_at) * 1000) FILTER (
            WHERE state = 'completed' AND finished_at >= statement_timestamp() - p_time_window), 3), 0)
    FROM backstay.jobs
    WHERE (p_team_id IS NULL OR tenant = p_team_id::text)
      AND args -> 'payload' IS NOT NULL
$$;

-- Rights and words -----------------------------------------------------------------------------------------------

DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'aeon_app') THEN
        GRANT USAGE ON SCHEMA public TO aeon_app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON public.jobs, public.job_executions, public.job_dependencies,
            public.job_schedules, public.dead_letter_jobs TO aeon_app;
        GRANT EXECUTE ON FUNCTION public.get_ready_jobs(integer, text[]),
            public.check_dependencies_satisfied(uuid), public.get_job_statistics(uuid, interval) TO aeon_app;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION aeon.set_status(uuid, text, timestamptz), aeon.go_on(uuid) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION public.get_ready_jobs(integer, text[]), public.check_dependencies_satisfied(uuid),
    public.get_job_statistics(uuid, interval) FROM PUBLIC;

COMMENT ON VIEW public.jobs IS 'All jobs: the main queue table';
COMMENT ON VIEW public.job_executions IS 'Every attempt of every job';
COMMENT ON VIEW public.job_dependencies IS 'Which job waits for which';
COMMENT ON VIEW public.job_schedules IS 'Schedules that make jobs again and again';
COMMENT ON VIEW public.dead_letter_jobs IS 'Jobs that failed for good and need a person';
COMMENT ON FUNCTION public.get_ready_jobs(integer, text[]) IS 'Jobs that are ready, respecting dependencies and priorities';
COMMENT ON FUNCTION public.check_dependencies_satisfied(uuid) IS 'Whether nothing keeps a job waiting';
COMMENT ON FUNCTION public.get_job_statistics(uuid, interval) IS 'Figures of the queue for monitoring';

COMMIT;

SELECT 'Migration 001_gap006_job_tables completed successfully' AS status;
SELECT relname AS name, CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END AS kind
FROM pg_class
WHERE relnamespace = 'public'::regnamespace
  AND relname IN ('jobs', 'job_executions', 'job_dependencies', 'job_schedules', 'dead_letter_jobs')
ORDER BY relname;
