-- Enter a worker that is a program of its own, or enter it again after it was given up.
CREATE OR REPLACE FUNCTION backstay.worker_start(
    worker text, kinds text[], queues text[] DEFAULT '{}', concurrency integer DEFAULT 1, host text DEFAULT NULL,
    at timestamptz DEFAULT NULL
)
RETURNS void
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
DECLARE
    p_clock CONSTANT timestamptz := COALESCE(worker_start.at, clock_timestamp());
BEGIN
    PERFORM backstay.refuse_work(worker_start.kinds);
    INSERT INTO backstay.workers AS known (
        id, type, state, host, pid, version, kinds, queues, concurrency, started_at, heartbeat_at
    )
    VALUES (
        worker_start.worker, 'sql', 'alive',
        COALESCE(worker_start.host, host(inet_client_addr()), 'localhost'), pg_backend_pid(), 'sql',
        to_jsonb(worker_start.kinds), to_jsonb(worker_start.queues), worker_start.concurrency, p_clock, p_clock
    )
    ON CONFLICT (id) DO UPDATE
    SET state = 'alive',
        host = excluded.host,
        pid = excluded.pid,
        kinds = excluded.kinds,
        queues = excluded.queues,
        concurrency = excluded.concurrency,
        started_at = excluded.started_at,
        heartbeat_at = excluded.heartbeat_at,
        stopped_at = NULL
    WHERE known.type = 'sql';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is a worker of the engine: choose another name', worker_start.worker
            USING ERRCODE = 'unique_violation';
    END IF;
END
$$;

-- Say that a worker lives; false means that it was given up and must be started again.
CREATE OR REPLACE FUNCTION backstay.worker_beat(worker text, at timestamptz DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    UPDATE backstay.workers
    SET heartbeat_at = COALESCE(worker_beat.at, clock_timestamp()),
        running = (
            SELECT count(*)
            FROM backstay.jobs
            WHERE state = 'running'
              AND jobs.worker = worker_beat.worker
        )
    WHERE id = worker_beat.worker
      AND state IN ('alive', 'stopping');
    RETURN FOUND;
END
$$;

-- Say that a worker goes. What it still holds is run again when its leases end.
CREATE OR REPLACE FUNCTION backstay.worker_stop(worker text, at timestamptz DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    UPDATE backstay.workers
    SET state = 'stopped',
        stopped_at = COALESCE(worker_stop.at, clock_timestamp())
    WHERE id = worker_stop.worker
      AND state IN ('alive', 'stopping');
    RETURN FOUND;
END
$$;

-- Raise where jobs of a kind cannot be worked from SQL.
CREATE OR REPLACE FUNCTION backstay.refuse_work(kinds text[])
RETURNS void
LANGUAGE plpgsql
STABLE
AS $$
#variable_conflict use_column
DECLARE
    found text;
BEGIN
    SELECT string_agg(asked.kind, ', ' ORDER BY asked.kind) INTO found
    FROM unnest(refuse_work.kinds) AS asked (kind)
    WHERE NOT EXISTS (SELECT 1 FROM backstay.kinds WHERE kinds.kind = asked.kind);
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'no application has declared the kind %', found
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Start a program that declares it, or run "backstay --app MODULE:APP db migrate".';
    END IF;
    SELECT string_agg(kinds.kind, ', ' ORDER BY kinds.kind) INTO found
    FROM backstay.kinds
    WHERE kinds.kind = ANY (refuse_work.kinds)
      AND kinds.is_limited;
    IF found IS NOT NULL THEN
        RAISE EXCEPTION 'the kind % has a limit, and only workers of the engine keep it', found
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'Work it with "backstay worker", or declare it without a limit.';
    END IF;
END
$$;

-- Take up to `number` jobs, the next ones by their turn. Without `queues`, wherever jobs of the kinds are sent to.
-- A job that was under way when its worker died is handed out only when there is no other, and then alone.
CREATE OR REPLACE FUNCTION backstay.claim(
    worker text, kinds text[], queues text[] DEFAULT NULL, number integer DEFAULT 1, at timestamptz DEFAULT NULL
)
RETURNS TABLE (
    id uuid, epoch integer, kind text, queue text, args json, attempt integer, max_attempts integer, tenant text,
    correlation_id text, deadline timestamptz, lease_expires_at timestamptz
)
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
DECLARE
    p_worker CONSTANT text := claim.worker;
    p_clock CONSTANT timestamptz := COALESCE(claim.at, clock_timestamp());
    p_claim_id CONSTANT uuid := backstay.new_id();
    p_since CONSTANT timestamptz := '-infinity';
    p_limit bigint := claim.number;
    p_suspects bigint := 0;
    p_queues text[];
    p_kinds text[];
    p_leases interval[];
    p_timeouts interval[];
    p_max_attempts smallint[];
BEGIN
    PERFORM backstay.refuse_work(claim.kinds);
    IF NOT EXISTS (SELECT 1 FROM backstay.workers WHERE workers.id = p_worker AND state = 'alive') THEN
        RAISE EXCEPTION 'worker % does not live', p_worker
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'It never started, was stopped, or was not heard of for too long: call backstay.worker_start.';
    END IF;
    SELECT
        array_agg(place.queue), array_agg(place.kind), array_agg(place.lease), array_agg(place.timeout),
        array_agg(place.max_attempts)
    INTO p_queues, p_kinds, p_leases, p_timeouts, p_max_attempts
    FROM (
        SELECT
            places.queue,
            known.kind,
            make_interval(secs => COALESCE((known.policy ->> 'lease_seconds')::float, <<lease>>)) AS lease,
            make_interval(secs => COALESCE((known.policy ->> 'timeout_seconds')::float, <<timeout>>)) AS timeout,
            COALESCE((known.policy ->> 'max_attempts')::smallint, <<max_attempts>>::smallint) AS max_attempts
        FROM backstay.kinds AS known
        CROSS JOIN LATERAL (
            SELECT known.queue
            UNION
            SELECT routes.queue FROM backstay.routes WHERE routes.kind = known.kind
        ) AS places (queue)
        WHERE known.kind = ANY (claim.kinds)
          AND (claim.queues IS NULL OR places.queue = ANY (claim.queues))
    ) AS place;
    IF claim.number < 1 THEN
        RETURN;
    END IF;
    LOOP
        RETURN QUERY
        WITH claimed AS (
        <<claim>>
        RETURNING
            job.id, job.lease_epoch, job.kind::text AS kind, job.queue::text AS queue, job.args,
            job.attempt::integer AS attempt, job.max_attempts::integer AS max_attempts, job.tenant::text AS tenant,
            job.correlation_id::text AS correlation_id, job.deadline, job.lease_expires_at, job.turn
        )
        SELECT
            claimed.id, claimed.lease_epoch, claimed.kind, claimed.queue, claimed.args, claimed.attempt,
            claimed.max_attempts, claimed.tenant, claimed.correlation_id, claimed.deadline, claimed.lease_expires_at
        FROM claimed
        ORDER BY claimed.turn, claimed.id;
        EXIT WHEN FOUND OR p_suspects > 0;
        p_limit := 0;
        -- One alone: it may take the program down, and whatever else that holds.
        p_suspects := 1;
    END LOOP;
END
$$;

-- Keep a job: its lease begins anew. `held` is false where it is no longer the caller's; the caller then stops.
CREATE OR REPLACE FUNCTION backstay.renew(job_id uuid, epoch integer, at timestamptz DEFAULT NULL)
RETURNS TABLE (held boolean, cancel_requested boolean, cancel_reason text)
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
DECLARE
    p_clock CONSTANT timestamptz := COALESCE(renew.at, clock_timestamp());
    p_job_id CONSTANT uuid[] := ARRAY[renew.job_id];
    p_epoch CONSTANT integer[] := ARRAY[renew.epoch];
BEGIN
    RETURN QUERY
    <<renew>>
    RETURNING TRUE, cancel_requested_at IS NOT NULL, job.cancel_reason;
    IF NOT FOUND THEN
        RETURN QUERY SELECT FALSE, FALSE, NULL::text;
    END IF;
END
$$;

-- Record success. True also where it was recorded before under this epoch; false where the job is somebody else's.
-- What has to be decided when jobs of a kind end, maintenance decides.
CREATE OR REPLACE FUNCTION backstay.complete(
    job_id uuid, epoch integer, result json DEFAULT NULL, at timestamptz DEFAULT NULL
)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
DECLARE
    p_clock CONSTANT timestamptz := COALESCE(complete.at, clock_timestamp());
    p_job_id CONSTANT uuid[] := ARRAY[complete.job_id];
    p_epoch CONSTANT integer[] := ARRAY[complete.epoch];
    p_value CONSTANT json[] := ARRAY[complete.result];
    known backstay.kinds;
    most integer;
    completed bigint;
    awaited boolean;
BEGIN
    SELECT kinds.* INTO known
    FROM backstay.jobs
    JOIN backstay.kinds ON kinds.kind = jobs.kind
    WHERE jobs.id = complete.job_id
      AND jobs.lease_epoch = complete.epoch;
    most := COALESCE((known.policy ->> 'max_result_bytes')::integer, <<max_result_bytes>>);
    IF octet_length(complete.result::text) > most THEN
        RAISE EXCEPTION 'the result has % bytes, and % are allowed', octet_length(complete.result::text), most
            USING ERRCODE = 'program_limit_exceeded',
                  HINT = 'Store it elsewhere and return where it is, or raise max_result_bytes of the kind.';
    END IF;
    IF known.reactions IS NOT NULL THEN
        RETURN backstay.report(
            complete.job_id, complete.epoch,
            json_build_object('type', 'completed', 'result', complete.result), p_clock
        );
    END IF;
    <<complete>>
        RETURNING job.id, job.is_awaited
    )
    SELECT count(*), bool_or(is_awaited) INTO completed, awaited FROM done;
    IF completed = 0 THEN
        RETURN EXISTS (
            SELECT 1
            FROM backstay.jobs
            WHERE jobs.id = complete.job_id
              AND state = 'completed'
              AND settled_epoch IN (complete.epoch, complete.epoch + 2)
        );
    END IF;
    IF awaited THEN
        PERFORM backstay.notify_workers(ARRAY['done:' || complete.job_id]);
    END IF;
    IF EXISTS (SELECT 1 FROM backstay.dependencies WHERE parent_id = complete.job_id AND verdict IS NULL) THEN
        PERFORM backstay.notify_workers(ARRAY['reported']);
    END IF;
    RETURN TRUE;
END
$$;

-- Say how an attempt ended. The caller's claim ends; maintenance takes the job over at once and decides what follows, by
-- the rules that hold for every other failure. False where the job is somebody else's.
CREATE OR REPLACE FUNCTION backstay.report(job_id uuid, epoch integer, outcome json, at timestamptz)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    UPDATE backstay.jobs
    SET lease_epoch = lease_epoch + 2,
        lease_expires_at = report.at + interval '5 minutes',
        heartbeat_at = report.at,
        claim_id = NULL,
        updated_at = report.at
    WHERE id = report.job_id
      AND lease_epoch = report.epoch
      AND state = 'running';
    IF NOT FOUND THEN
        RETURN EXISTS (
            SELECT 1
            FROM backstay.reports
            WHERE reports.job_id = report.job_id
              AND reports.epoch = report.epoch + 2
        );
    END IF;
    INSERT INTO backstay.reports (job_id, epoch, outcome, reported_at)
    VALUES (report.job_id, report.epoch + 2, report.outcome, report.at)
    ON CONFLICT (job_id) DO UPDATE
    SET epoch = excluded.epoch,
        outcome = excluded.outcome,
        reported_at = excluded.reported_at;
    PERFORM backstay.notify_workers(ARRAY['reported']);
    RETURN TRUE;
END
$$;

-- Record a failure. Whether and when the job is tried again is decided by its policy, for the class of its error.
CREATE OR REPLACE FUNCTION backstay.fail(
    job_id uuid, epoch integer, error text, error_class text DEFAULT 'unknown', type text DEFAULT 'Error',
    retry_in interval DEFAULT NULL, at timestamptz DEFAULT NULL
)
RETURNS boolean
LANGUAGE sql
VOLATILE
AS $$
SELECT backstay.report(
    fail.job_id,
    fail.epoch,
    json_build_object(
        'type', 'failed', 'error_type', left(fail.type, 200), 'message', left(fail.error, 10000),
        'error_class', fail.error_class, 'retry_in', extract(epoch FROM fail.retry_in)
    ),
    COALESCE(fail.at, clock_timestamp())
)
$$;

-- Put a job off without counting a failure.
CREATE OR REPLACE FUNCTION backstay.snooze(job_id uuid, epoch integer, delay interval, at timestamptz DEFAULT NULL)
RETURNS boolean
LANGUAGE sql
VOLATILE
AS $$
SELECT backstay.report(
    snooze.job_id,
    snooze.epoch,
    json_build_object('type', 'snoozed', 'delay', extract(epoch FROM snooze.delay)),
    COALESCE(snooze.at, clock_timestamp())
)
$$;

-- The epoch under which a worker holds a job, for callers who kept only its id; NULL where it does not.
CREATE OR REPLACE FUNCTION backstay.epoch_of(job_id uuid, worker text)
RETURNS integer
LANGUAGE sql
STABLE
AS $$
SELECT jobs.lease_epoch
FROM backstay.jobs
WHERE jobs.id = epoch_of.job_id
  AND jobs.worker = epoch_of.worker
  AND jobs.state = 'running'
  AND jobs.claim_id IS NOT NULL
$$;
