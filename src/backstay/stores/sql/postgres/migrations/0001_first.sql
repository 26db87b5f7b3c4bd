-- The whole schema of this release: tables with their indexes, then functions, triggers and views.
--
-- Text COLLATE "C" is compared byte by byte: the sorting rules of a language would slow every index of it down.
-- Tables whose rows belong to a job have no foreign key to jobs; triggers do its work. The reason stands beside their
-- functions, under "What belongs to a job".

-- Jobs

-- Columns are ordered by how often they are set: first those that always are and have one size, then the others that
-- always are, then those of a running job, then the rest. A change of a row compares every indexed column, and a column
-- near the front is found without walking over others.
CREATE TABLE backstay.jobs (
    id uuid NOT NULL PRIMARY KEY,
    run_at timestamptz NOT NULL,
    -- The order of claims: when the job is due, moved by its priority.
    turn timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- Rises by one with every claim and with every end of one, so it is odd exactly while the job is running. Whatever
    -- is written about an attempt names it.
    lease_epoch integer NOT NULL DEFAULT 0,
    run integer NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    -- Runs that ended by a crash of their worker, since a handler has ended by itself.
    crashes_in_row smallint NOT NULL DEFAULT 0,
    is_suspect boolean NOT NULL DEFAULT FALSE,
    is_awaited boolean NOT NULL DEFAULT FALSE,
    state text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL DEFAULT '',
    args json NOT NULL,
    worker text COLLATE "C",
    started_at timestamptz,
    finished_at timestamptz,
    heartbeat_at timestamptz,
    lease_expires_at timestamptz,
    reason text,
    result json,
    -- The epoch that was settled last: a settlement whose reply was lost can be sent again and is recognised.
    settled_epoch integer,
    settled_by text,
    claim_id uuid,
    duration_ms bigint,
    max_attempts smallint,
    lease interval,
    timeout interval,
    error json,
    own_max_attempts smallint,
    own_timeout interval,
    own_lease interval,
    policy json,
    tags jsonb,
    metadata jsonb,
    name text,
    description text,
    parent_id uuid,
    correlation_id text,
    created_by text,
    idempotency_key text,
    unique_key text,
    expires_at timestamptz,
    deadline timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason text,
    -- The limit that a held job waits for, and the key whose jobs run one after the other.
    parked_for text COLLATE "C",
    order_key text COLLATE "C",
    -- When it was due at first, kept once another attempt has changed run_at.
    first_due_at timestamptz,
    -- The profile whose lanes and categories hold for it, where it has any, and its category there.
    profile text,
    category text,
    -- One rule for all states: a lease and an odd epoch while running and only then, an end when it has ended, a reason
    -- wherever a person would ask for one, a result on success alone. It is an expression as short as it can be:
    -- PostgreSQL reads its text for every statement, but evaluates a function three times as long for every row, and
    -- most rows come many to a statement.
    CONSTRAINT fields_fit_state CHECK (
        CASE lease_epoch % 2
            WHEN 1 THEN
                state = 'running' AND lease_expires_at IS NOT NULL AND num_nonnulls(finished_at, result) = 0
            WHEN 0 THEN
                num_nonnulls(lease_expires_at, heartbeat_at) = 0
                AND CASE
                    WHEN finished_at IS NULL THEN
                        result IS NULL
                        AND (state IN ('available', 'scheduled') OR state = 'held' AND reason IS NOT NULL)
                    ELSE
                        state = 'completed'
                        OR state IN ('dead', 'cancelled', 'resolved') AND reason IS NOT NULL AND result IS NULL
                END
            ELSE FALSE
        END
        AND priority BETWEEN 1 AND 10
        AND attempt BETWEEN 0 AND max_attempts
    )
);

-- Each index is partial and answers one question, so a finished job is in almost none of them. Every statement opens
-- all of them and every change of a row looks at them: where two can be one, they are.

CREATE INDEX jobs_due ON backstay.jobs (run_at, id)
WHERE state = 'scheduled';

CREATE INDEX jobs_held ON backstay.jobs (reason, id)
WHERE state = 'held';

CREATE INDEX jobs_dead ON backstay.jobs (finished_at, id)
WHERE state = 'dead';

-- How many jobs of each queue and kind wait or are dead: jumped through from one pair to the next. Jobs that are run as
-- soon as they are stored are never in it. Every queue has a name, so the last condition is always true: it keeps the
-- index to the statements that repeat it, away from those that look for what is due.
CREATE INDEX jobs_depth ON backstay.jobs (state, queue, kind)
WHERE state IN ('scheduled', 'held', 'dead') AND queue >= '';

CREATE INDEX jobs_expiring ON backstay.jobs (expires_at)
WHERE expires_at IS NOT NULL AND run = 0 AND state IN ('scheduled', 'held', 'available');

CREATE INDEX jobs_deadline ON backstay.jobs (deadline)
WHERE deadline IS NOT NULL AND state IN ('scheduled', 'held', 'available');

CREATE INDEX jobs_parent ON backstay.jobs (parent_id, id)
WHERE parent_id IS NOT NULL;

CREATE INDEX jobs_correlation ON backstay.jobs (correlation_id, id)
WHERE correlation_id IS NOT NULL;

CREATE UNIQUE INDEX jobs_unique_active ON backstay.jobs (tenant, unique_key)
WHERE unique_key IS NOT NULL AND state IN ('scheduled', 'held', 'available', 'running');

CREATE INDEX jobs_parked ON backstay.jobs (parked_for, turn, id)
WHERE state = 'held' AND parked_for IS NOT NULL;

CREATE INDEX jobs_order ON backstay.jobs (order_key, created_at, id)
WHERE order_key IS NOT NULL AND state IN ('scheduled', 'held', 'available', 'running');

-- The next two hold only jobs that have a tenant: applications without tenants do not pay for them.

-- Whose turn it is: the tenants of a queue in the order of their names, and the jobs of each in order of turn.
CREATE INDEX jobs_claim_fair ON backstay.jobs (queue, kind, tenant, turn, id)
WHERE state = 'available' AND NOT is_suspect AND tenant <> '';

-- What a tenant has waiting, to count it, to hold it and to release it.
CREATE INDEX jobs_of_tenant ON backstay.jobs (tenant, state, queue, id)
WHERE tenant <> '' AND state IN ('scheduled', 'held', 'available');

-- Suspects come after the other jobs of their queue and kind.
CREATE INDEX jobs_claim ON backstay.jobs (queue, kind, is_suspect, turn, id)
WHERE state = 'available';

-- Every claim adds to this index, and a worker has few jobs: by the worker alone it is half as large as with ids.
CREATE INDEX jobs_running ON backstay.jobs (worker)
WHERE state = 'running';

-- Attempts that have ended, except the one that completed its job: that one is in the job's row.
CREATE TABLE backstay.attempts (
    job_id uuid NOT NULL,
    lease_epoch integer NOT NULL,
    attempt smallint NOT NULL,
    run integer NOT NULL,
    status text NOT NULL,
    worker text,
    started_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    duration_ms bigint NOT NULL,
    error json,
    PRIMARY KEY (job_id, lease_epoch),
    CONSTRAINT known_status CHECK (
        status IN ('completed', 'failed', 'timeout', 'cancelled', 'released', 'snoozed', 'crashed')
    ),
    CONSTRAINT finished_after_start CHECK (finished_at >= started_at)
);

-- What attempts in processes of their own have used. Not in jobs and attempts: most attempts are not measured, and
-- every job writes to those tables.
CREATE TABLE backstay.measures (
    job_id uuid NOT NULL,
    lease_epoch integer NOT NULL,
    cpu_ms bigint NOT NULL,
    peak_rss_mb integer NOT NULL,
    PRIMARY KEY (job_id, lease_epoch)
);

-- What handlers remember (steps) and report (progress) while they run. Not in jobs: a job's row is wide, its indexes
-- are partial on its state, and claims and settlements would pay for a new version of it whenever a handler writes.
CREATE TABLE backstay.steps (
    job_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    lease_epoch integer NOT NULL,
    attempt smallint NOT NULL,
    run integer NOT NULL,
    worker text,
    result json,
    duration_ms bigint NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, name)
);

CREATE TABLE backstay.progress (
    job_id uuid NOT NULL PRIMARY KEY,
    lease_epoch integer NOT NULL,
    current double precision NOT NULL,
    total double precision,
    message text,
    updated_at timestamptz NOT NULL,
    CONSTRAINT progress_is_counted CHECK (current >= 0 AND (total IS NULL OR total > 0))
);

-- What jobs receive from outside (signals), and what their handlers wait for (waits). Not in jobs: few jobs have any.

-- The position of a signal among those of its name is given under the lock of the job's row and never changes: a
-- handler that runs again must get the same answers as before.
CREATE TABLE backstay.signals (
    job_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    position integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    payload json,
    sent_by text NOT NULL,
    sent_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, name, position),
    CONSTRAINT position_is_counted CHECK (position > 0)
);

CREATE UNIQUE INDEX signals_once ON backstay.signals (job_id, name, key);

-- The n-th wait of a handler for a name. One that timed out is remembered as long as the job exists; the deadline is
-- that of the first time the handler waited, however often the job runs.
CREATE TABLE backstay.waits (
    job_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    position integer NOT NULL,
    is_open boolean NOT NULL,
    waiting_since timestamptz NOT NULL,
    times_out_at timestamptz,
    timed_out_at timestamptz,
    PRIMARY KEY (job_id, name, number),
    CONSTRAINT timed_out_is_closed CHECK (timed_out_at IS NULL OR NOT is_open)
);

CREATE INDEX waits_due ON backstay.waits (times_out_at, job_id)
WHERE is_open AND times_out_at IS NOT NULL;

-- Jobs whose arguments did not fit the code of the worker that took them (misfits), and what they did not fit
-- (misfit_signatures). `attempt` is the one that could not begin: another number means that the job ran in between.
CREATE TABLE backstay.misfits (
    job_id uuid NOT NULL PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    attempt smallint NOT NULL,
    is_open boolean NOT NULL,
    times integer NOT NULL,
    again_at timestamptz NOT NULL,
    gives_up_at timestamptz NOT NULL,
    CONSTRAINT times_are_counted CHECK (times > 0)
);

CREATE INDEX misfits_open ON backstay.misfits (again_at, job_id)
WHERE is_open;

CREATE TABLE backstay.misfit_signatures (
    job_id uuid NOT NULL,
    signature text COLLATE "C" NOT NULL,
    PRIMARY KEY (job_id, signature)
);

-- One row for each death of a job, and what people decided about it. Retention may remove the job before its letters.
CREATE TABLE backstay.dead_letters (
    job_id uuid NOT NULL,
    lease_epoch integer NOT NULL,
    tenant text NOT NULL DEFAULT '',
    kind text NOT NULL,
    queue text NOT NULL,
    reason text NOT NULL,
    fingerprint text COLLATE "C" NOT NULL DEFAULT '',
    error json,
    attempts integer NOT NULL,
    first_attempted_at timestamptz,
    died_at timestamptz NOT NULL,
    status text NOT NULL DEFAULT 'new',
    owner text,
    note text,
    resolution text,
    resolved_by text,
    resolved_at timestamptz,
    changed_by text,
    changed_at timestamptz,
    version integer NOT NULL DEFAULT 1,
    -- The arguments that it died with, beside those that a retry may have given it since.
    args json,
    PRIMARY KEY (job_id, lease_epoch),
    CONSTRAINT known_status CHECK (status IN ('new', 'investigating', 'resolved', 'ignored', 'retried')),
    CONSTRAINT investigation_has_owner CHECK (status <> 'investigating' OR owner IS NOT NULL),
    CONSTRAINT resolution_has_author CHECK (
        status IN ('new', 'investigating')
        OR (resolution IS NOT NULL AND resolved_by IS NOT NULL AND resolved_at IS NOT NULL)
    )
);

CREATE INDEX dead_letters_open ON backstay.dead_letters (died_at, job_id)
WHERE status IN ('new', 'investigating');

CREATE INDEX dead_letters_cause ON backstay.dead_letters (fingerprint, died_at, job_id)
WHERE status IN ('new', 'investigating') AND fingerprint <> '';

CREATE INDEX dead_letters_closed ON backstay.dead_letters (fingerprint, resolved_at)
WHERE status IN ('resolved', 'ignored', 'retried') AND fingerprint <> '';

-- Keys

CREATE TABLE backstay.idempotency_keys (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    fingerprint text NOT NULL,
    job_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX idempotency_keys_expiring ON backstay.idempotency_keys (expires_at);

-- Unique keys that hold for a window of time; those that hold while their job is active are in jobs.
CREATE TABLE backstay.unique_windows (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    window_number bigint NOT NULL,
    job_id uuid NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, key, window_number)
);

CREATE INDEX unique_windows_expiring ON backstay.unique_windows (expires_at);

-- The job that was stored last under a key whose jobs wait until no more come.
CREATE TABLE backstay.debounces (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX debounces_of_job ON backstay.debounces (job_id);

-- Flows: jobs that wait for other jobs. Not in jobs: a job without parents and children pays nothing, and storing a
-- child writes to no row of a parent.

CREATE TABLE backstay.flows (
    id uuid NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL DEFAULT '',
    name text NOT NULL,
    callback_id uuid,
    created_by text,
    created_at timestamptz NOT NULL
);

CREATE TABLE backstay.flow_jobs (
    job_id uuid NOT NULL PRIMARY KEY,
    flow_id uuid NOT NULL REFERENCES backstay.flows (id) ON DELETE CASCADE,
    label text
);

CREATE INDEX flow_jobs_of_flow ON backstay.flow_jobs (flow_id, job_id);

CREATE TABLE backstay.dependencies (
    job_id uuid NOT NULL,
    parent_id uuid NOT NULL,
    -- Where in the arguments the parent's result belongs, as a JSON pointer; one parent may fill several places.
    place text COLLATE "C" NOT NULL DEFAULT '',
    type text COLLATE "C" NOT NULL,
    condition json,
    on_failure text COLLATE "C" NOT NULL DEFAULT 'cancel',
    verdict text COLLATE "C",
    decided_at timestamptz,
    PRIMARY KEY (job_id, parent_id, place),
    CONSTRAINT no_dependency_on_itself CHECK (job_id <> parent_id),
    CONSTRAINT known_type CHECK (type IN ('completion', 'success', 'data', 'conditional')),
    CONSTRAINT known_policy CHECK (on_failure IN ('cancel', 'run', 'hold')),
    CONSTRAINT known_verdict CHECK (verdict IS NULL OR verdict IN ('met', 'cancel', 'run', 'hold', 'void')),
    CONSTRAINT verdict_has_time CHECK ((verdict IS NULL) = (decided_at IS NULL)),
    CONSTRAINT data_has_place CHECK ((type = 'data') = (place <> '')),
    CONSTRAINT condition_where_needed CHECK ((type = 'conditional') = (condition IS NOT NULL))
);

CREATE INDEX dependencies_of_parent ON backstay.dependencies (parent_id);

CREATE INDEX dependencies_undecided ON backstay.dependencies (parent_id, job_id)
WHERE verdict IS NULL;

-- Kinds

CREATE TABLE backstay.kinds (
    kind text NOT NULL PRIMARY KEY,
    queue text NOT NULL,
    policy jsonb,
    promoted jsonb,
    arguments jsonb,
    fingerprint text NOT NULL,
    description text,
    declared_by text,
    updated_at timestamptz NOT NULL,
    -- The declaration before this one, if it was another: two programs may disagree.
    conflict jsonb,
    -- The template of the key by which jobs of the kind run one after the other.
    ordered_by text,
    -- The kinds whose jobs are stored when jobs of this kind end, by how they end.
    reactions jsonb,
    -- Whether only workers of the engine may run its jobs, because they alone keep limits.
    is_limited boolean NOT NULL DEFAULT FALSE
);

-- The queues that kinds are sent to besides their own, so that workers look there.
CREATE TABLE backstay.routes (
    queue text NOT NULL,
    kind text NOT NULL,
    PRIMARY KEY (queue, kind)
);

-- Numbers that operators have changed while everything runs, apart from what code declares.
CREATE TABLE backstay.overrides (
    scope text NOT NULL,
    name text NOT NULL,
    field text NOT NULL,
    change json NOT NULL,
    set_at timestamptz NOT NULL,
    set_by text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (scope, name, field),
    CONSTRAINT scope_is_queue_or_kind CHECK (scope IN ('queue', 'kind'))
);

-- Profiles

-- What an application calls things, as far as plain SQL has to know it. `priorities` is how it writes priorities:
-- which end comes first, and the ranks of its names and numbers.
CREATE TABLE backstay.profiles (
    name text NOT NULL PRIMARY KEY,
    priorities jsonb NOT NULL,
    tenant_alias text NOT NULL,
    updated_at timestamptz NOT NULL
);

-- The application's words for states; `detail` is a reason, 'retrying', or empty for the state in general.
CREATE TABLE backstay.profile_words (
    profile text NOT NULL REFERENCES backstay.profiles (name) ON DELETE CASCADE,
    state text NOT NULL,
    detail text NOT NULL,
    word text NOT NULL,
    PRIMARY KEY (profile, state, detail)
);

CREATE TABLE backstay.profile_kinds (
    kind text NOT NULL PRIMARY KEY,
    profile text NOT NULL REFERENCES backstay.profiles (name) ON DELETE CASCADE
);

-- The queues and categories that a profile declares, each with the kinds that may be in it; NULL stands for all.
CREATE TABLE backstay.lanes (
    profile text NOT NULL REFERENCES backstay.profiles (name) ON DELETE CASCADE,
    name text NOT NULL,
    kinds jsonb,
    PRIMARY KEY (profile, name)
);

CREATE TABLE backstay.categories (
    profile text NOT NULL REFERENCES backstay.profiles (name) ON DELETE CASCADE,
    name text NOT NULL,
    kinds jsonb,
    PRIMARY KEY (profile, name)
);

-- Pauses, of a queue or of a kind

CREATE TABLE backstay.pauses (
    queue text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    paused_at timestamptz NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    ends_at timestamptz,
    PRIMARY KEY (queue, kind),
    CONSTRAINT queue_or_kind CHECK ((queue = '') <> (kind = ''))
);

-- Tenants

-- A pause that is over stays until every job that it has held is released.
CREATE TABLE backstay.tenant_pauses (
    tenant text COLLATE "C" NOT NULL PRIMARY KEY,
    paused_at timestamptz NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    ends_at timestamptz,
    CONSTRAINT tenant_is_named CHECK (tenant <> '')
);

-- How many jobs may wait: of one tenant, or of each (''); in one queue, or in all ('').
CREATE TABLE backstay.quotas (
    tenant text COLLATE "C" NOT NULL DEFAULT '',
    queue text COLLATE "C" NOT NULL DEFAULT '',
    most integer NOT NULL,
    set_at timestamptz NOT NULL,
    set_by text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (tenant, queue),
    CONSTRAINT quota_is_counted CHECK (most >= 0)
);

-- Limits

-- A row for every limit that was asked for. Locking it is what makes claims under the same limit go one by one.
-- `every` is zero where running jobs are counted. Otherwise a token comes so often, and the number of tokens follows
-- from the moment `spent_until` (the generic cell rate algorithm).
CREATE TABLE backstay.limits (
    key text COLLATE "C" NOT NULL PRIMARY KEY,
    most integer NOT NULL,
    every interval NOT NULL,
    yields boolean NOT NULL,
    spent_until timestamptz NOT NULL,
    next_at timestamptz,
    CONSTRAINT limit_is_positive CHECK (most > 0)
);

CREATE INDEX limits_due ON backstay.limits (next_at)
WHERE next_at IS NOT NULL;

-- A permit counts exactly while its job runs under its epoch, whoever ends that and however. Rows are never changed,
-- only added and removed, so one that has served can be removed at any time.
CREATE TABLE backstay.permits (
    limit_key text COLLATE "C" NOT NULL,
    job_id uuid NOT NULL,
    lease_epoch integer NOT NULL,
    PRIMARY KEY (limit_key, job_id, lease_epoch)
);

CREATE INDEX permits_of_job ON backstay.permits (job_id);

-- Schedules

-- The definition is one document, because it is read and written as a whole; beside it are the few columns that
-- statements compare. What operators change, overrides and pauses, has columns of its own, which a declaration by code
-- never touches.
CREATE TABLE backstay.schedules (
    id uuid NOT NULL PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL DEFAULT '',
    name text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    definition json NOT NULL,
    overrides json,
    declared_by text NOT NULL,
    is_active boolean NOT NULL,
    max_runs integer,
    next_fire_at timestamptz,
    last_fire_at timestamptz,
    run_count integer NOT NULL DEFAULT 0,
    missed_count bigint NOT NULL DEFAULT 0,
    paused_at timestamptz,
    paused_by text,
    pause_reason text,
    tzdata text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT source_is_known CHECK (source IN ('code', 'runtime')),
    CONSTRAINT runs_within_limit CHECK (max_runs IS NULL OR run_count <= max_runs),
    CONSTRAINT pause_has_a_reason CHECK (paused_at IS NULL OR (paused_by IS NOT NULL AND pause_reason IS NOT NULL)),
    CONSTRAINT no_fire_while_paused CHECK (paused_at IS NULL OR NOT is_active)
);

CREATE UNIQUE INDEX schedules_name ON backstay.schedules (tenant, name);

CREATE INDEX schedules_due ON backstay.schedules (next_fire_at, id)
WHERE is_active AND next_fire_at IS NOT NULL;

-- One row for each fire, whatever became of it: the primary key is what makes only one job of it.
CREATE TABLE backstay.fires (
    schedule_id uuid NOT NULL REFERENCES backstay.schedules (id) ON DELETE CASCADE,
    fire_time timestamptz NOT NULL,
    reference_time timestamptz NOT NULL,
    trigger_source text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    job_id uuid,
    reason text,
    missed integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    -- From here on: filled when retention removes the job, so that the history outlives it.
    state text COLLATE "C",
    started_at timestamptz,
    finished_at timestamptz,
    duration_ms bigint,
    attempt smallint,
    worker text,
    result json,
    error json,
    PRIMARY KEY (schedule_id, fire_time),
    CONSTRAINT trigger_is_known CHECK (trigger_source IN ('schedule', 'run_now', 'back_fill')),
    CONSTRAINT skipped_has_a_reason_others_a_job CHECK (
        CASE status
            WHEN 'skipped' THEN job_id IS NULL AND reason IS NOT NULL AND NOT is_open
            WHEN 'enqueued' THEN job_id IS NOT NULL
            WHEN 'queued' THEN job_id IS NOT NULL
            ELSE FALSE
        END
    )
);

CREATE UNIQUE INDEX fires_job ON backstay.fires (job_id)
WHERE job_id IS NOT NULL;

CREATE INDEX fires_open ON backstay.fires (schedule_id, fire_time)
WHERE is_open;

CREATE INDEX fires_queued ON backstay.fires (schedule_id, fire_time)
WHERE status = 'queued' AND is_open;

CREATE INDEX fires_age ON backstay.fires (created_at);

-- Locks

-- A lock that has expired stays for a while, so that its fence goes on rising.
CREATE TABLE backstay.locks (
    tenant text COLLATE "C" NOT NULL DEFAULT '',
    id text COLLATE "C" NOT NULL,
    holder text NOT NULL,
    job_id uuid,
    fence bigint NOT NULL,
    locked_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX locks_expiry ON backstay.locks (expires_at);

-- Workers

CREATE TABLE backstay.workers (
    id text NOT NULL PRIMARY KEY,
    state text NOT NULL,
    host text NOT NULL,
    boot_id text,
    pid integer NOT NULL,
    process_started timestamptz,
    version text NOT NULL,
    kinds jsonb NOT NULL,
    queues jsonb NOT NULL,
    concurrency integer NOT NULL,
    running integer NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    stopped_at timestamptz,
    type text NOT NULL DEFAULT 'general',
    settled bigint NOT NULL DEFAULT 0,
    tainted integer NOT NULL DEFAULT 0,
    cpu_percent real,
    rss_mb integer,
    loop_lag_ms integer,
    -- What somebody told it to do last, which it reads with every sign of life.
    told text,
    told_by text,
    told_at timestamptz,
    CONSTRAINT known_state CHECK (state IN ('alive', 'stopping', 'stopped', 'dead')),
    CONSTRAINT known_order CHECK (told IN ('drain', 'resume', 'stop'))
);

-- What each worker reads the arguments of a kind by; a job that was refused by one signature waits for another.
CREATE TABLE backstay.worker_signatures (
    worker text NOT NULL,
    kind text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    PRIMARY KEY (worker, kind)
);

CREATE INDEX worker_signatures_of_kind ON backstay.worker_signatures (kind, signature);

-- How attempts ended that were worked from SQL, until maintenance has decided what follows. A row counts while its job
-- has this epoch.
CREATE TABLE backstay.reports (
    job_id uuid NOT NULL PRIMARY KEY,
    epoch integer NOT NULL,
    outcome json NOT NULL,
    reported_at timestamptz NOT NULL
);

-- The worker that has a duty which only one may have at a time.
CREATE TABLE backstay.leaders (
    duty text NOT NULL PRIMARY KEY,
    worker text NOT NULL,
    expires_at timestamptz NOT NULL
);

-- Figures

-- How many attempts ended in a minute or an hour, by how and by how long they took: bucket n holds those below 2^n ms.
-- Workers add what they have counted in memory every few seconds.
CREATE TABLE backstay.figures (
    period text COLLATE "C" NOT NULL,
    at timestamptz NOT NULL,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    measure text COLLATE "C" NOT NULL,
    bucket smallint NOT NULL,
    jobs bigint NOT NULL,
    took_ms bigint NOT NULL,
    PRIMARY KEY (period, at, queue, kind, measure, bucket),
    CONSTRAINT period_is_known CHECK (period IN ('minute', 'hour')),
    CONSTRAINT measure_is_known CHECK (measure IN ('completed', 'failed', 'crashed', 'dead', 'waited'))
);

-- What an application counts itself.
CREATE TABLE backstay.counters (
    name text NOT NULL PRIMARY KEY,
    total bigint NOT NULL,
    updated_at timestamptz NOT NULL
);

-- The audit trail

CREATE TABLE backstay.audit (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    tenant text NOT NULL DEFAULT '',
    actor text NOT NULL,
    action text NOT NULL,
    job_id uuid,
    from_state text,
    to_state text,
    reason text,
    -- From where it was asked for: an address and a key, a command.
    source text,
    details json
);

CREATE INDEX audit_of_job ON backstay.audit (job_id, id)
WHERE job_id IS NOT NULL;

-- JSON values

-- What a JSON value must look like, for programs that enqueue with SQL alone: the same rules as in Python.
-- No function in this file relies on the caller's search path: tables and functions of ours are always qualified.

-- The JSON pointer of a member (RFC 6901).
CREATE FUNCTION backstay.pointer_to(pointer text, member text)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT pointer || '/' || replace(replace(member, '~', '~0'), '/', '~1')
$$;

-- A moment written with its offset, or NULL for any other text. Without the offset it would depend on the session.
CREATE FUNCTION backstay.moment(written text)
RETURNS timestamptz
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    IF written !~* '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$' THEN
        RETURN NULL;
    END IF;
    RETURN written::timestamptz;
EXCEPTION
    WHEN data_exception THEN
        RETURN NULL;
END
$$;

-- What is wrong with a key: idempotency, unique and correlation keys, tenants, tags, names. NULL when nothing is.
CREATE FUNCTION backstay.key_problem(key text)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF length(key) NOT BETWEEN 1 AND 255 THEN
        RETURN format('has %s characters, not 1 to 255', length(key));
    ELSIF key ~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' THEN
        RETURN 'contains a control character';
    ELSIF key ~ '[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]' THEN
        RETURN 'contains a character that changes the direction of text';
    ELSIF key IS NOT NFC NORMALIZED THEN
        RETURN 'is not in Unicode normal form C, so a look-alike would be another key';
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with a text that should have this format; formats nobody knows here are left to the handler.
CREATE FUNCTION backstay.format_problem(format text, written text)
RETURNS text
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    number CONSTANT text := '^[+-]?(\d+([.]\d*)?|[.]\d+)(e[+-]?\d+)?$|^[+-]?(nan|inf|infinity)$';
    seconds CONSTANT text := '(\d+([.]\d+)?h)?(\d+([.]\d+)?m)?(\d+([.]\d+)?s)?';
BEGIN
    CASE format
        WHEN 'name' THEN
            IF written !~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' THEN
                RETURN 'must have 1 to 128 of A-Z a-z 0-9 . _ : - and start with a letter or digit';
            END IF;
        WHEN 'key' THEN
            RETURN backstay.key_problem(written);
        WHEN 'uuid' THEN
            IF written !~* '^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$' THEN
                RETURN 'must be a UUID such as 0190163d-8694-739b-aea5-966c26f8ad91';
            END IF;
        WHEN 'date-time' THEN
            IF backstay.moment(written) IS NULL THEN
                RETURN 'must be a moment with its offset, such as 2026-05-04T09:30:00+00:00';
            END IF;
        WHEN 'date' THEN
            IF written !~ '^\d{4}-\d\d-\d\d$' OR backstay.moment(written || 'T00:00Z') IS NULL THEN
                RETURN 'must be a date such as 2026-05-04';
            END IF;
        WHEN 'time' THEN
            IF written !~* '^([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.]\d+)?(Z|[+-]\d\d:\d\d)?$' THEN
                RETURN 'must be a time of day such as 09:30:00';
            END IF;
        WHEN 'duration' THEN
            IF written !~* ('^[+-]?P(?=.)(\d+([.]\d+)?d)?(T(?=.)' || seconds || ')?$') THEN
                RETURN 'must be an ISO 8601 duration in days, hours, minutes and seconds, such as PT1H30M';
            END IF;
        WHEN 'decimal' THEN
            IF written !~* number THEN
                RETURN 'must be a decimal number written as text';
            END IF;
        ELSE
            RETURN NULL;
    END CASE;
    RETURN NULL;
END
$$;

-- Whether a pattern is found in a text. A pattern that only Python understands is left to the handler.
CREATE FUNCTION backstay.fits_pattern(pattern text, written text)
RETURNS boolean
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN written ~ pattern;
EXCEPTION
    WHEN invalid_regular_expression THEN
        RETURN TRUE;
END
$$;

-- What is wrong with a text, by its schema.
CREATE FUNCTION backstay.text_problem(schema jsonb, written text)
RETURNS text
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    IF length(written) < (schema ->> 'minLength')::integer THEN
        RETURN format('must have at least %s characters', schema ->> 'minLength');
    ELSIF length(written) > (schema ->> 'maxLength')::integer THEN
        RETURN format('must have at most %s characters', schema ->> 'maxLength');
    ELSIF schema ? 'contentEncoding'
        AND written !~ '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' THEN
        RETURN 'must be bytes in base64';
    ELSIF schema ? 'format' THEN
        RETURN backstay.format_problem(schema ->> 'format', written);
    ELSIF schema ? 'pattern' AND NOT backstay.fits_pattern(schema ->> 'pattern', written) THEN
        RETURN format('must match %s', COALESCE(schema ->> 'description', schema ->> 'pattern'));
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with a number, by its schema.
CREATE FUNCTION backstay.number_problem(schema jsonb, number numeric)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF number < (schema ->> 'minimum')::numeric THEN
        RETURN format('must be at least %s', schema ->> 'minimum');
    ELSIF number > (schema ->> 'maximum')::numeric THEN
        RETURN format('must be at most %s', schema ->> 'maximum');
    ELSIF number <= (schema ->> 'exclusiveMinimum')::numeric THEN
        RETURN format('must be more than %s', schema ->> 'exclusiveMinimum');
    ELSIF number >= (schema ->> 'exclusiveMaximum')::numeric THEN
        RETURN format('must be less than %s', schema ->> 'exclusiveMaximum');
    ELSIF number % (schema ->> 'multipleOf')::numeric <> 0 THEN
        RETURN format('must be a multiple of %s', schema ->> 'multipleOf');
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with the type of a value. 1.0 is not a whole number, as for the handler that will read it.
CREATE FUNCTION backstay.type_problem(allowed text, value jsonb)
RETURNS text
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    found CONSTANT text := jsonb_typeof(value);
    words CONSTANT jsonb := '{"string": "text", "object": "an object", "array": "an array", "integer": "a whole number",
        "number": "a number", "boolean": "true or false", "null": "null"}';
BEGIN
    IF found = allowed OR (allowed = 'integer' AND found = 'number' AND value::text ~ '^-?[0-9]+$') THEN
        RETURN NULL;
    END IF;
    RETURN format('must be %s, not %s', COALESCE(words ->> allowed, allowed), words ->> found);
END
$$;

-- The first place where a value does not fit a JSON schema, as the JSON pointer and what is wrong there; NULL when it
-- fits. Messages never repeat values: arguments may be secret. Knows the schemas that handlers' signatures produce.
CREATE FUNCTION backstay.argument_problem(schema jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    found text[];
    problem text;
    choice jsonb;
BEGIN
    -- Most values have a type and no further rule; they need not be held against every rule there is.
    IF jsonb_typeof(value) = schema ->> 'type'
        AND NOT schema ?| ARRAY[
            'enum', 'const', 'anyOf', 'oneOf', 'allOf', 'properties', 'required', 'additionalProperties',
            'propertyNames', 'minProperties', 'maxProperties', 'items', 'prefixItems', 'minItems', 'maxItems',
            'minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'minimum', 'maximum',
            'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'
        ] THEN
        RETURN NULL;
    ELSIF jsonb_typeof(schema) = 'boolean' THEN
        RETURN CASE WHEN schema = 'false' THEN ARRAY[pointer, 'is not allowed'] END;
    ELSIF schema = '{}' THEN
        RETURN NULL;
    END IF;
    -- A class of another library brings its own definitions, and its references mean those.
    IF schema ? '$defs' THEN
        root := schema;
    END IF;
    IF schema ? '$ref' THEN
        RETURN backstay.argument_problem(
            COALESCE(root #> string_to_array(substr(schema ->> '$ref', 3), '/'), 'true'), value, root, pointer
        );
    END IF;
    IF jsonb_typeof(schema -> 'type') = 'string' THEN
        problem := backstay.type_problem(schema ->> 'type', value);
        -- The handler's reader takes a number for a decimal as well.
        IF problem IS NOT NULL
            AND (schema ->> 'format' IS DISTINCT FROM 'decimal' OR jsonb_typeof(value) <> 'number') THEN
            RETURN ARRAY[pointer, problem];
        END IF;
    END IF;
    IF schema ? 'enum' AND NOT (schema -> 'enum') @> jsonb_build_array(value) THEN
        RETURN ARRAY[pointer, format('must be one of %s', left(schema ->> 'enum', 200))];
    ELSIF schema ? 'const' AND schema -> 'const' <> value THEN
        RETURN ARRAY[pointer, format('must be %s', schema -> 'const')];
    END IF;
    IF schema ?| ARRAY['anyOf', 'oneOf'] THEN
        RETURN backstay.choice_problem(COALESCE(schema -> 'anyOf', schema -> 'oneOf'), value, root, pointer);
    END IF;
    IF schema ? 'allOf' THEN
        FOR choice IN SELECT element FROM jsonb_array_elements(schema -> 'allOf') AS element LOOP
            found := backstay.argument_problem(choice, value, root, pointer);
            IF found IS NOT NULL THEN
                RETURN found;
            END IF;
        END LOOP;
    END IF;
    CASE jsonb_typeof(value)
        WHEN 'string' THEN
            problem := backstay.text_problem(schema, value #>> ARRAY[]::text[]);
        WHEN 'number' THEN
            problem := backstay.number_problem(schema, value::numeric);
        WHEN 'array' THEN
            RETURN backstay.array_problem(schema, value, root, pointer);
        WHEN 'object' THEN
            RETURN backstay.object_problem(schema, value, root, pointer);
        ELSE
            problem := NULL;
    END CASE;
    RETURN CASE WHEN problem IS NOT NULL THEN ARRAY[pointer, problem] END;
END
$$;

-- The problem of a value that may have one of several forms. With one form besides null, it is that form's problem.
CREATE FUNCTION backstay.choice_problem(choices jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    choice jsonb;
    found text[];
    last text[];
    forms integer := 0;
BEGIN
    FOR choice IN SELECT element FROM jsonb_array_elements(choices) AS element LOOP
        found := backstay.argument_problem(choice, value, root, pointer);
        IF found IS NULL THEN
            RETURN NULL;
        ELSIF choice ->> 'type' IS DISTINCT FROM 'null' THEN
            forms := forms + 1;
            last := found;
        END IF;
    END LOOP;
    RETURN CASE forms
        WHEN 1 THEN last
        ELSE ARRAY[pointer, format('fits none of the %s forms it may have', jsonb_array_length(choices))]
    END;
END
$$;

-- What is wrong with an array, by its schema: its size, or the first bad item.
CREATE FUNCTION backstay.array_problem(schema jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    size CONSTANT integer := jsonb_array_length(value);
    fixed CONSTANT integer := COALESCE(jsonb_array_length(schema -> 'prefixItems'), 0);
    item jsonb;
    item_schema jsonb;
    index bigint;
    found text[];
BEGIN
    IF size < (schema ->> 'minItems')::integer THEN
        RETURN ARRAY[pointer, format('must have at least %s items', schema ->> 'minItems')];
    ELSIF size > (schema ->> 'maxItems')::integer THEN
        RETURN ARRAY[pointer, format('must have at most %s items', schema ->> 'maxItems')];
    ELSIF fixed = 0 AND COALESCE(schema -> 'items', '{}') IN ('{}', 'true') THEN
        RETURN NULL;
    END IF;
    FOR item, index IN
        SELECT given.element, given.number - 1
        FROM jsonb_array_elements(value) WITH ORDINALITY AS given (element, number)
    LOOP
        item_schema := CASE
            WHEN index < fixed THEN schema -> 'prefixItems' -> index::integer
            ELSE schema -> 'items'
        END;
        IF item_schema IS NOT NULL THEN
            found := backstay.argument_problem(item_schema, item, root, pointer || '/' || index);
            IF found IS NOT NULL THEN
                RETURN found;
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- The names of an object's members, for messages.
CREATE FUNCTION backstay.names_of(value jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT COALESCE(string_agg(name, ', ' ORDER BY name), 'none')
FROM jsonb_object_keys(value) AS name
$$;

-- What is wrong with an object, by its schema: a member that is missing or unknown, or the first bad one.
CREATE FUNCTION backstay.object_problem(schema jsonb, value jsonb, root jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    known CONSTANT jsonb := COALESCE(schema -> 'properties', '{}');
    further CONSTANT jsonb := schema -> 'additionalProperties';
    member text;
    member_pointer text;
    inner_value jsonb;
    found text[];
BEGIN
    IF schema ? 'required' THEN
        FOR member IN
            SELECT needed.name
            FROM jsonb_array_elements_text(schema -> 'required') AS needed (name)
            WHERE NOT object_problem.value ? needed.name
            LIMIT 1
        LOOP
            RETURN ARRAY[backstay.pointer_to(pointer, member), 'is missing'];
        END LOOP;
    END IF;
    FOR member, inner_value IN SELECT each.key, each.value FROM jsonb_each(value) AS each LOOP
        member_pointer := backstay.pointer_to(pointer, member);
        IF known ? member THEN
            found := backstay.argument_problem(known -> member, inner_value, root, member_pointer);
        ELSIF further = 'false' THEN
            RETURN ARRAY[member_pointer, format('is unknown; known are: %s', backstay.names_of(known))];
        ELSIF further IS NOT NULL THEN
            found := backstay.argument_problem(further, inner_value, root, member_pointer);
        END IF;
        IF found IS NULL AND schema ? 'propertyNames' THEN
            found := backstay.argument_problem(schema -> 'propertyNames', to_jsonb(member), root, member_pointer);
        END IF;
        IF found IS NOT NULL THEN
            RETURN found;
        END IF;
    END LOOP;
    IF schema ?| ARRAY['minProperties', 'maxProperties'] THEN
        RETURN backstay.member_count_problem(schema, value, pointer);
    END IF;
    RETURN NULL;
END
$$;

-- What is wrong with the number of an object's members, by its schema.
CREATE FUNCTION backstay.member_count_problem(schema jsonb, value jsonb, pointer text)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    size CONSTANT bigint := (SELECT count(*) FROM jsonb_object_keys(value));
BEGIN
    IF size < (schema ->> 'minProperties')::integer THEN
        RETURN ARRAY[pointer, format('must have at least %s members', schema ->> 'minProperties')];
    ELSIF size > (schema ->> 'maxProperties')::integer THEN
        RETURN ARRAY[pointer, format('must have at most %s members', schema ->> 'maxProperties')];
    END IF;
    RETURN NULL;
END
$$;

-- The first number or nesting in a JSON value that Python could not give back as it was. Takes json, not jsonb,
-- because only its text tells 1e30, a float, from a whole number of thirty-one digits.
CREATE FUNCTION backstay.walk_problem(value json, depth integer, pointer text)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    found text[];
    inner_value json;
    member text;
BEGIN
    CASE json_typeof(value)
        WHEN 'number' THEN
            IF value::text !~ '[.eE]'
                AND value::text::numeric NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
                RETURN ARRAY[pointer, 'is a whole number beyond 64 bits: write it as text'];
            ELSIF abs(value::text::numeric) > 1.7976931348623157e308 THEN
                RETURN ARRAY[pointer, 'is too large for a float: write it as text'];
            END IF;
            RETURN NULL;
        WHEN 'array', 'object' THEN
            IF depth > 64 THEN
                RETURN ARRAY[pointer, 'is nested deeper than 64 levels'];
            END IF;
        ELSE
            RETURN NULL;
    END CASE;
    FOR member, inner_value IN SELECT inside.member, inside.value FROM backstay.members(value) AS inside LOOP
        found := backstay.walk_problem(inner_value, depth + 1, backstay.pointer_to(pointer, member));
        IF found IS NOT NULL THEN
            RETURN found;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- What an array or object holds, under the names that a JSON pointer uses.
CREATE FUNCTION backstay.members(json)
RETURNS TABLE (member text, value json)
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT (item.number - 1)::text, item.element
FROM json_array_elements(CASE json_typeof($1) WHEN 'array' THEN $1 END) WITH ORDINALITY AS item (element, number)
UNION ALL
SELECT each.key, each.value
FROM json_each(CASE json_typeof($1) WHEN 'object' THEN $1 END) AS each
$$;

-- What is wrong with a JSON value before its meaning is looked at: size, depth, numbers.
-- Text without long numbers and with few brackets cannot have such a problem, which is found out without a walk.
CREATE FUNCTION backstay.payload_problem(value json, max_bytes integer, pointer text)
RETURNS text[]
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    written CONSTANT text := value::text;
BEGIN
    IF octet_length(written) > max_bytes THEN
        RETURN ARRAY[
            pointer, format('has %s bytes of JSON, more than the %s allowed', octet_length(written), max_bytes)
        ];
    ELSIF length(written) - length(translate(written, '[{', '')) > 64
        OR written ~ '[0-9]{19}|[0-9][eE][+]?[0-9]{3}' THEN
        RETURN backstay.walk_problem(value, 1, pointer);
    END IF;
    RETURN NULL;
END
$$;

-- Jobs that are enqueued with SQL: what their fields, policy and arguments must look like

-- What every field of a job may be. Ten years, the longest time ahead, are 315,619,200 seconds.
CREATE FUNCTION backstay.job_fields()
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
    "order_key": {"type": "string", "format": "key"},
    "profile": {"type": "string", "format": "key"},
    "category": {"type": "string", "format": "key"}
}'::jsonb
$$;

-- What the policy of one job may change.
CREATE FUNCTION backstay.policy_schema()
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
        "misfit_for_seconds": {"$ref": "#/$defs/positive"},
        "postpone_above": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1000000}, {"type": "null"}]},
        "postpone_by_seconds": {"$ref": "#/$defs/positive"},
        "keep_completed_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_cancelled_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_resolved_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "keep_letters_seconds": {"anyOf": [{"$ref": "#/$defs/length"}, {"type": "null"}]},
        "transaction_limit_seconds": {"$ref": "#/$defs/positive"},
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
CREATE FUNCTION backstay.policy_problem(own jsonb, of_kind jsonb)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    found text[] := backstay.argument_problem(backstay.policy_schema(), own, '{}', '/policy');
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
CREATE FUNCTION backstay.field_problem(field text, value jsonb, fields jsonb, at timestamptz)
RETURNS text[]
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    pointer CONSTANT text := backstay.pointer_to('', field);
    found text[];
BEGIN
    IF NOT fields ? field THEN
        RETURN ARRAY[pointer, format('is unknown; known are: %s', backstay.names_of(fields))];
    END IF;
    found := backstay.argument_problem(fields -> field, value, '{}', pointer);
    IF found IS NULL
        AND field IN ('run_at', 'expires_at', 'deadline')
        AND backstay.moment(value #>> ARRAY[]::text[]) > at + interval '3653 days' THEN
        found := ARRAY[pointer, 'must be at most ten years ahead'];
    END IF;
    IF found IS NULL OR field IN ('args', 'args_text', 'metadata', 'policy') THEN
        RETURN found;
    END IF;
    RETURN ARRAY[found[1], format('cannot be %s: it %s', backstay.shown(value), found[2])];
END
$$;

-- A value, short enough to be part of a message.
CREATE FUNCTION backstay.shown(value jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE WHEN length(value::text) > 60 THEN left(value::text, 60) || '…' ELSE value::text END
$$;

-- What is wrong with fields together: two that say the same thing in two ways, one that means nothing without another.
CREATE FUNCTION backstay.pair_problem(job jsonb)
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
CREATE FUNCTION backstay.args_problem(job jsonb, known backstay.kinds, OUT rule text, OUT problem text[])
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
    problem := backstay.payload_problem(args, max_bytes, '/args');
    IF problem IS NULL THEN
        -- Also where no schema asks for it: jsonb refuses NUL and half characters, which json would keep.
        args_parsed := COALESCE(NULLIF(job -> 'args', 'null'), args::jsonb);
    END IF;
    IF problem IS NULL AND known.arguments IS NOT NULL THEN
        rule := 'valid_arguments';
        problem := backstay.argument_problem(known.arguments, args_parsed, known.arguments, '/args');
    END IF;
EXCEPTION
    WHEN invalid_text_representation OR untranslatable_character OR statement_too_complex THEN
        problem := ARRAY['/args_text', format('must be the text of a JSON object: %s', SQLERRM)];
END
$$;

-- What is wrong with one job: the rule it breaks, the JSON pointer of the place, and the problem; NULL when nothing is.
CREATE FUNCTION backstay.job_problem(
    job jsonb, known backstay.kinds, at timestamptz, OUT rule text, OUT pointer text, OUT problem text
)
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    fields CONSTANT jsonb := backstay.job_fields();
    field text;
    value jsonb;
    broken text[];
BEGIN
    rule := 'valid_job';
    IF jsonb_typeof(job) <> 'object' THEN
        broken := ARRAY['', format('a job must be an object with at least a kind, not %s', backstay.shown(job))];
    ELSIF job ->> 'kind' IS NULL THEN
        broken := ARRAY['/kind', 'is missing: name the kind of job'];
    ELSE
        FOR field, value IN
            SELECT given.key, given.value
            FROM jsonb_each(job) AS given
            WHERE given.value <> 'null'
              AND (given.key <> 'tenant' OR given.value <> '""')
        LOOP
            broken := backstay.field_problem(field, value, fields, at);
            EXIT WHEN broken IS NOT NULL;
        END LOOP;
        broken := COALESCE(broken, backstay.pair_problem(job));
        IF broken IS NULL AND known.kind IS NULL THEN
            rule := 'known_kind';
            broken := ARRAY['/kind', format(
                'cannot be %s: no worker or client has declared this kind; start one that has it, or correct the name',
                job -> 'kind'
            )];
        END IF;
        IF broken IS NULL AND job ->> 'policy' IS NOT NULL THEN
            broken := backstay.policy_problem(job -> 'policy', known.policy);
        END IF;
        IF broken IS NULL AND job ->> 'metadata' IS NOT NULL THEN
            broken := backstay.payload_problem((job -> 'metadata')::json, 1048576, '/metadata');
        END IF;
        IF broken IS NULL THEN
            SELECT found.rule, found.problem INTO rule, broken FROM backstay.args_problem(job, known) AS found;
        END IF;
    END IF;
    pointer := broken[1];
    problem := broken[2];
END
$$;

-- Raise for the first bad job of a batch and name the others. DETAIL is a JSON pointer into what was passed in,
-- the column is the field, the constraint is the rule that was broken.
CREATE FUNCTION backstay.refuse_invalid(batch jsonb, is_array boolean, at timestamptz)
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
        LEFT JOIN backstay.kinds AS known ON known.kind = given.job ->> 'kind'
        CROSS JOIN LATERAL backstay.job_problem(given.job, known, at) AS found
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

-- Enqueueing with one SQL statement, inside whatever transaction the caller has open:
--     SELECT backstay.enqueue('send_mail', '{"to": "ada@example.org"}', '{"delay_seconds": 60}');
--     SELECT job_id, is_new FROM backstay.enqueue('[{"kind": "send_mail", "args": {"to": "ada@example.org"}}]'::jsonb);

-- A version-7 UUID: milliseconds, then the fraction of the millisecond, then random bits, so that ids rise with time.
CREATE FUNCTION backstay.new_id()
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
-- Python writes the same text, except for floats that jsonb has already made whole (1e16 and above), floats with a
-- fraction above 1e15, and -0.0.
CREATE FUNCTION backstay.canonical(value jsonb)
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
                    to_json(each.key)::text || ':' || backstay.canonical(each.value), ',' ORDER BY each.key COLLATE "C"
                ), '') || '}'
                FROM jsonb_each(value) AS each
            );
        WHEN 'array' THEN
            RETURN (
                SELECT '[' || COALESCE(string_agg(backstay.canonical(item.value), ',' ORDER BY item.number), '') || ']'
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
CREATE FUNCTION backstay.fingerprint(job jsonb)
RETURNS text
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT encode(sha256(convert_to(backstay.canonical(jsonb_build_array(
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

-- The key of a job from its kind's template, as Python makes it; NULL where an argument cannot be part of a key.
CREATE FUNCTION backstay.filled_key(template text, args jsonb, tenant text)
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

-- Store jobs that passed the checks; the n-th gets the n-th id. What a job leaves out comes from its kind, unless the
-- sender has resolved that already: then what is left out is meant to be. The key by which jobs of its kind run one
-- after the other comes from the kind in either case.
-- As in the engine's own enqueue statement, an id that is there already is left alone, and so is a job whose unique key
-- an active job holds.
CREATE FUNCTION backstay.insert_jobs(batch jsonb, ids uuid[], at timestamptz, is_resolved boolean)
RETURNS TABLE (id uuid, queue text, state text)
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    RETURN QUERY
    INSERT INTO backstay.jobs AS stored (
        id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, tenant, args,
        own_max_attempts, own_timeout, own_lease, policy, tags, metadata, name, description, parent_id,
        correlation_id, created_by, idempotency_key, unique_key, expires_at, deadline, order_key, profile, category
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
        given.order_key,
        given.profile,
        given.category
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
                backstay.filled_key(
                    line.ordered_by, COALESCE(job.args_text::jsonb, job.args::jsonb, '{}'), COALESCE(job.tenant, '')
                )
            ) AS order_key,
            COALESCE(job.profile, CASE WHEN NOT is_resolved THEN backstay.profile_of(job.kind) END) AS profile,
            job.category
        FROM ROWS FROM (
            jsonb_to_recordset(batch) AS (
                kind text, queue text, args json, args_text text, priority smallint, ageing_step_seconds float8,
                delay_seconds float8, run_at timestamptz, held_for text, tenant text, name text, description text,
                tags jsonb, metadata jsonb, policy json, parent_id uuid, correlation_id text, created_by text,
                idempotency_key text, unique_key text, unique_for_seconds float8, expires_in_seconds float8,
                expires_at timestamptz, deadline_in_seconds float8, deadline timestamptz, order_key text, profile text,
                category text
            )
        ) WITH ORDINALITY AS job
        LEFT JOIN backstay.kinds AS known ON known.kind = job.kind AND NOT is_resolved
        LEFT JOIN backstay.kinds AS line ON line.kind = job.kind AND line.ordered_by IS NOT NULL
        CROSS JOIN LATERAL (
            SELECT COALESCE(known.policy, '{}') || COALESCE(job.policy::jsonb, '{}') AS policy
        ) AS merged
    ) AS given
    ON CONFLICT DO NOTHING
    RETURNING stored.id, stored.queue, stored.state;
END
$$;

-- The profile whose lanes and categories hold for jobs of a kind; NULL where it has none of these.
CREATE FUNCTION backstay.profile_of(of_kind text)
RETURNS text
LANGUAGE sql
STABLE
AS $$
SELECT own.profile
FROM backstay.profile_kinds AS own
WHERE own.kind = of_kind
  AND (
    EXISTS (SELECT 1 FROM backstay.lanes WHERE lanes.profile = own.profile)
    OR EXISTS (SELECT 1 FROM backstay.categories WHERE categories.profile = own.profile)
)
$$;

-- Take an idempotency key for a job: NULL when it is ours now, otherwise the job that has it.
-- A key that has expired and whose job has ended is free again.
CREATE FUNCTION backstay.reserve_key(
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
        INSERT INTO backstay.idempotency_keys AS taken (tenant, key, fingerprint, job_id, expires_at)
        VALUES (for_tenant, wanted, new_fingerprint, new_job, at + interval '24 hours')
        ON CONFLICT (tenant, key) DO UPDATE
        SET fingerprint = excluded.fingerprint,
            job_id = excluded.job_id,
            expires_at = excluded.expires_at
        WHERE taken.expires_at < at
          AND NOT EXISTS (
            SELECT 1
            FROM backstay.jobs AS job
            WHERE job.id = taken.job_id
              AND job.state NOT IN ('completed', 'dead', 'resolved', 'cancelled')
          );
        IF FOUND THEN
            RETURN NULL;
        END IF;
        SELECT known.job_id, known.fingerprint
        INTO holder
        FROM backstay.idempotency_keys AS known
        WHERE known.tenant = for_tenant
          AND known.key = wanted;
        -- Not found: it was forgotten in between, so it is free.
        EXIT WHEN FOUND;
    END LOOP;
    IF holder.fingerprint <> new_fingerprint THEN
        RAISE EXCEPTION USING
            ERRCODE = 'WL001',
            MESSAGE = format(
                'idempotency key %s was already used for a different job', backstay.shown(to_jsonb(wanted))
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
CREATE FUNCTION backstay.reserve_window(
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
        INSERT INTO backstay.unique_windows (tenant, key, window_number, job_id, expires_at)
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
        FROM backstay.unique_windows AS taken
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
CREATE FUNCTION backstay.store_keyed(
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
        holder := backstay.reserve_key(
            for_tenant, own_key, COALESCE(job ->> 'fingerprint', backstay.fingerprint(job)), new_job, at, pointer
        );
        IF holder IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;
    IF job ->> 'unique_for_seconds' IS NOT NULL THEN
        holder := backstay.reserve_window(
            for_tenant, job ->> 'unique_key', (job ->> 'unique_for_seconds')::numeric, new_job, at
        );
    END IF;
    WHILE holder IS NULL LOOP
        SELECT inserted.id, inserted.queue, inserted.state
        INTO holder, queue, state
        FROM backstay.insert_jobs(jsonb_build_array(job), ARRAY[new_job], at, is_resolved) AS inserted;
        IF FOUND THEN
            RETURN;
        END IF;
        -- Our own id: a first sending stored it and only the reply was lost.
        SELECT stored.id
        INTO holder
        FROM backstay.jobs AS stored
        WHERE stored.id = new_job;
        EXIT WHEN FOUND;
        SELECT stored.id
        INTO holder
        FROM backstay.jobs AS stored
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
        UPDATE backstay.idempotency_keys AS taken
        SET job_id = holder
        WHERE taken.tenant = for_tenant
          AND taken.key = own_key;
    END IF;
END
$$;

-- Remember which kinds are sent to a queue other than their own, so that workers look there. A route that is known is
-- not written again: two transactions that write the same row would wait for one another.
CREATE FUNCTION backstay.note_routes(batch jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    INSERT INTO backstay.routes (queue, kind)
    SELECT DISTINCT given.job ->> 'queue', known.kind
    FROM jsonb_array_elements(batch) AS given (job)
    JOIN backstay.kinds AS known ON known.kind = given.job ->> 'kind'
    WHERE given.job ->> 'queue' <> known.queue
      AND NOT EXISTS (
        SELECT 1
        FROM backstay.routes AS noted
        WHERE noted.queue = given.job ->> 'queue'
          AND noted.kind = known.kind
      )
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
END
$$;

-- Wake workers when this transaction commits, once for a queue. SET LOCAL backstay.notify = off keeps it silent:
-- many small transactions that notify wait for one another when they commit.
CREATE FUNCTION backstay.notify_workers(hints text[])
RETURNS void
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    IF COALESCE(current_setting('backstay.notify', TRUE), '') NOT IN ('off', 'false', 'no', '0') THEN
        PERFORM pg_notify('backstay', hint.name)
        FROM (SELECT DISTINCT unnest(hints) AS name) AS hint;
    END IF;
END
$$;

-- Whether a job has a key, so that it may be there already.
CREATE FUNCTION backstay.is_keyed(job jsonb)
RETURNS boolean
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT job ->> 'idempotency_key' IS NOT NULL OR job ->> 'unique_key' IS NOT NULL
$$;

-- Store a batch of jobs that passed the checks. Rows come back in the order given; is_new is false for a job that was
-- there already under the same key. A pointer in an error begins with the job's place only when an array was given.
CREATE FUNCTION backstay.store_batch(batch jsonb, at timestamptz, is_resolved boolean, is_array boolean)
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
    own_ids := ARRAY(SELECT backstay.new_id() FROM generate_series(1, jsonb_array_length(batch)) ORDER BY 1);
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
    WHERE NOT backstay.is_keyed(given.job);
    hints := ARRAY(
        SELECT CASE inserted.state WHEN 'available' THEN 'queue:' || inserted.queue ELSE 'later' END
        FROM backstay.insert_jobs(plain.jobs, plain.ids, at, is_resolved) AS inserted
        WHERE inserted.state IN ('available', 'scheduled')
    );
    own_ids := ids;
    -- Always in the order of keys: two batches that share keys then wait for one another instead of deadlocking.
    FOR keyed IN
        SELECT given.job, given.number, CASE WHEN is_array THEN '/' || given.number - 1 ELSE '' END AS pointer
        FROM jsonb_array_elements(batch) WITH ORDINALITY AS given (job, number)
        WHERE backstay.is_keyed(given.job)
        ORDER BY given.job ->> 'tenant', given.job ->> 'idempotency_key', given.job ->> 'unique_key', given.number
    LOOP
        stored := backstay.store_keyed(
            keyed.job, ids[keyed.number], at, is_resolved, keyed.pointer || '/idempotency_key'
        );
        ids[keyed.number] := stored.holder;
        hints := hints || CASE stored.state
            WHEN 'available' THEN 'queue:' || stored.queue
            WHEN 'scheduled' THEN 'later'
        END;
    END LOOP;

    PERFORM backstay.notify_workers(array_remove(hints, NULL));
    RETURN QUERY
    SELECT each.id, each.id = each.own
    FROM unnest(ids, own_ids) WITH ORDINALITY AS each (id, own, number)
    ORDER BY each.number;
END
$$;

-- The engine's rank, 1 to 10 and lower first, for a priority as an application writes it; NULL where it has no such.
CREATE FUNCTION backstay.rank_of(priorities jsonb, asked jsonb)
RETURNS integer
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE jsonb_typeof(asked)
    WHEN 'number' THEN COALESCE(
        (priorities -> 'numbers' ->> (asked #>> '{}'))::integer,
        CASE
            WHEN asked::text !~ '^([1-9]|10)$' THEN NULL
            WHEN priorities ->> 'first' = 'low' THEN asked::integer
            ELSE 11 - asked::integer
        END
    )
    WHEN 'string' THEN (
        SELECT known.value::integer
        FROM jsonb_each_text(priorities -> 'names') AS known
        WHERE lower(known.key) = lower(asked #>> '{}')
        LIMIT 1
    )
END
$$;

-- A job in the engine's words, where its profile has others: `own_priority` as a rank, the tenant as tenant.
CREATE FUNCTION backstay.job_in_our_words(job jsonb, own backstay.profiles)
RETURNS jsonb
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    asked CONSTANT jsonb := job -> 'own_priority';
    rank CONSTANT integer := backstay.rank_of(own.priorities, asked);
BEGIN
    IF asked <> 'null' AND NOT job ? 'priority' THEN
        IF rank IS NULL THEN
            RAISE EXCEPTION USING
                ERRCODE = '22023',
                MESSAGE = format('own_priority cannot be %s', backstay.shown(asked)),
                DETAIL = '/own_priority',
                HINT = format(
                    'Nothing was stored. Write a whole number from 1 to 10 (%sest first) or one of: %s.',
                    own.priorities ->> 'first', backstay.names_of(own.priorities -> 'names')
                ),
                COLUMN = 'own_priority',
                CONSTRAINT = 'valid_job';
        END IF;
        job := (job - 'own_priority') || jsonb_build_object('priority', rank);
    END IF;
    IF own.tenant_alias <> 'tenant' AND job ? own.tenant_alias AND NOT job ? 'tenant' THEN
        job := (job - own.tenant_alias) || jsonb_build_object('tenant', job ->> own.tenant_alias);
    END IF;
    RETURN job;
END
$$;

-- A batch in the engine's words.
CREATE FUNCTION backstay.in_our_words(batch jsonb)
RETURNS jsonb
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM backstay.profiles) THEN
        RETURN batch;
    END IF;
    RETURN COALESCE((
        SELECT jsonb_agg(
            CASE
                WHEN own.name IS NULL THEN given.job
                ELSE backstay.job_in_our_words(given.job, own)
            END
            ORDER BY given.number
        )
        FROM jsonb_array_elements(batch) WITH ORDINALITY AS given (job, number)
        LEFT JOIN backstay.profile_kinds AS known ON known.kind = given.job ->> 'kind'
        LEFT JOIN backstay.profiles AS own ON own.name = known.profile
    ), batch);
END
$$;

-- Store jobs as of a moment: one object or an array of them, all or none.
CREATE FUNCTION backstay.enqueue_as_of(jobs jsonb, as_of timestamptz)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    at CONSTANT timestamptz := COALESCE(as_of, clock_timestamp());
    is_array CONSTANT boolean := COALESCE(jsonb_typeof(jobs) = 'array', FALSE);
    batch CONSTANT jsonb := backstay.in_our_words(CASE WHEN is_array THEN jobs ELSE jsonb_build_array(jobs) END);
BEGIN
    PERFORM backstay.refuse_invalid(batch, is_array, at);
    PERFORM backstay.note_routes(batch);
    RETURN QUERY
    SELECT stored.job_id, stored.is_new
    FROM backstay.store_batch(batch, at, FALSE, is_array) WITH ORDINALITY AS stored (job_id, is_new, number)
    ORDER BY stored.number;
END
$$;

-- Store jobs now that a client has checked against its own handlers, with every default resolved. A program may know a
-- kind that no worker has declared yet, or newer arguments of it, so neither is looked up here.
CREATE FUNCTION backstay.enqueue_checked(jobs jsonb)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT stored.job_id, stored.is_new
    FROM backstay.store_batch(jobs, clock_timestamp(), TRUE, TRUE) WITH ORDINALITY AS stored (job_id, is_new, number)
    ORDER BY stored.number;
END
$$;

-- Store jobs now: one object or an array of them, all or none.
CREATE FUNCTION backstay.enqueue(jobs jsonb)
RETURNS TABLE (job_id uuid, is_new boolean)
LANGUAGE plpgsql
VOLATILE
AS $$
BEGIN
    RETURN QUERY
    SELECT stored.job_id, stored.is_new
    FROM backstay.enqueue_as_of(jobs, NULL) WITH ORDINALITY AS stored (job_id, is_new, number)
    ORDER BY stored.number;
END
$$;

-- Store one job now; the options are the other fields of a job.
CREATE FUNCTION backstay.enqueue(kind text, args jsonb DEFAULT '{}', options jsonb DEFAULT '{}')
RETURNS uuid
LANGUAGE plpgsql
VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF kind LIKE '{%' OR kind LIKE '[%' THEN
        RAISE EXCEPTION USING
            ERRCODE = '22023',
            MESSAGE = 'kind looks like JSON: write backstay.enqueue(''…''::jsonb) to hand in whole jobs',
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
        FROM backstay.enqueue_as_of(
            COALESCE(options, '{}') || jsonb_build_object('kind', kind, 'args', args), NULL
        ) AS stored
    );
END
$$;

-- Quotas

-- How many jobs a tenant has waiting in a queue, or in all of them if none is named, counted up to `most`.
-- A function with settings of its own, because no planner knows `most` beforehand: a whole statement in a caller's
-- transaction is planned for a tenth of all jobs, compiled first for half a second, or reads the table from end to end.
-- Its cost makes the planner call it last, only for quotas that apply.
CREATE FUNCTION backstay.waiting_jobs(of_tenant text, of_queue text, most bigint)
RETURNS bigint
LANGUAGE plpgsql
STABLE
COST 10000
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    RETURN (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM backstay.jobs
            WHERE tenant = of_tenant
              AND tenant <> ''
              AND state IN ('scheduled', 'held', 'available')
              AND (of_queue = '' OR queue = of_queue)
            ORDER BY tenant, state, queue, id
            LIMIT most
        ) AS counted
    );
END
$$;

-- Promoted fields: arguments of a kind that are columns of a side table as well. The side tables and what fills them
-- are created by 'backstay db migrate' for what an application declares.

-- Refuse a job for the value of a promoted field.
CREATE FUNCTION backstay.refuse_field(kind text, field text, needs text)
RETURNS void
LANGUAGE plpgsql
STABLE
AS $$
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = '22023',
        MESSAGE = format('promoted field %s of %s %s', field, kind, needs),
        DETAIL = backstay.pointer_to('/args', field),
        COLUMN = field,
        CONSTRAINT = 'promoted_field';
END
$$;

-- A promoted field as text that its column's type can read; raises for any other value, so that nothing is stored.
-- The message does not repeat the value: arguments may be secret.
CREATE FUNCTION backstay.promoted_value(kind text, field text, type text, needs text, value json)
RETURNS text
LANGUAGE plpgsql
STABLE
AS $$
DECLARE
    written CONSTANT text := value #>> ARRAY[]::text[];
    given CONSTANT text := json_typeof(value);
BEGIN
    IF written IS NULL OR COALESCE(
        CASE type
            WHEN 'text' THEN given = 'string'
            WHEN 'integer' THEN
                given = 'number'
                AND written ~ '^-?\d{1,19}$'
                AND written::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
            WHEN 'number' THEN given = 'number' AND abs(written::numeric) < 1.7e308
            WHEN 'boolean' THEN given = 'boolean'
            WHEN 'timestamp' THEN
                given = 'string'
                AND written ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.]\d{1,6})?(Z|[+-]\d\d:\d\d)$'
                AND backstay.moment(written) IS NOT NULL
            WHEN 'date' THEN given = 'string' AND backstay.format_problem('date', written) IS NULL
            WHEN 'uuid' THEN
                given = 'string'
                -- Not one pattern for both ways of writing it: a reference back within it is slow.
                AND (
                    written ~ '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
                    OR written ~ '^[0-9a-fA-F]{32}$'
                )
        END,
        FALSE
    ) THEN
        RETURN written;
    END IF;
    PERFORM backstay.refuse_field(kind, field, needs);
END
$$;

-- What belongs to a job: the work of foreign keys to jobs, done by triggers
--
-- Every change of a row asks each foreign key that points to it whether the key has changed, and there would be ten of
-- them. The id of a job never changes, so these triggers run only when a job is removed or something is added to it.

-- Keep a job from being removed before this transaction ends; raises when there is none.
CREATE FUNCTION backstay.hold_job(job uuid, beside name)
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Whoever removes the job waits for this transaction, and finds what it has added.
    PERFORM 1
    FROM backstay.jobs
    WHERE id = job
    FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = format('there is no job %s for a row of %I', job, beside);
    END IF;
END
$$;

-- For the tables that name a job in job_id.
CREATE FUNCTION backstay.needs_job()
RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM backstay.hold_job(NEW.job_id, TG_TABLE_NAME);
    RETURN NULL;
END
$$;

-- For the table that names a job in parent_id as well.
CREATE FUNCTION backstay.needs_parent()
RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM backstay.hold_job(NEW.parent_id, TG_TABLE_NAME);
    RETURN NULL;
END
$$;

-- Remove what belongs to removed jobs. These are few among millions, so the settings make it go by the index of each
-- table, whatever the statistics say of its size.
CREATE FUNCTION backstay.go_with_jobs()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    DELETE FROM backstay.attempts USING removed WHERE attempts.job_id = removed.id;
    DELETE FROM backstay.dependencies USING removed WHERE dependencies.job_id = removed.id;
    DELETE FROM backstay.dependencies USING removed WHERE dependencies.parent_id = removed.id;
    DELETE FROM backstay.flow_jobs USING removed WHERE flow_jobs.job_id = removed.id;
    DELETE FROM backstay.measures USING removed WHERE measures.job_id = removed.id;
    DELETE FROM backstay.misfit_signatures USING removed WHERE misfit_signatures.job_id = removed.id;
    DELETE FROM backstay.misfits USING removed WHERE misfits.job_id = removed.id;
    DELETE FROM backstay.progress USING removed WHERE progress.job_id = removed.id;
    DELETE FROM backstay.signals USING removed WHERE signals.job_id = removed.id;
    DELETE FROM backstay.steps USING removed WHERE steps.job_id = removed.id;
    DELETE FROM backstay.waits USING removed WHERE waits.job_id = removed.id;
    RETURN NULL;
END
$$;

-- Remove what belongs to jobs when the table is truncated.
CREATE FUNCTION backstay.go_with_all_jobs()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Not TRUNCATE, which is refused for a table that the same command names.
    DELETE FROM backstay.attempts;
    DELETE FROM backstay.dependencies;
    DELETE FROM backstay.flow_jobs;
    DELETE FROM backstay.measures;
    DELETE FROM backstay.misfit_signatures;
    DELETE FROM backstay.misfits;
    DELETE FROM backstay.progress;
    DELETE FROM backstay.signals;
    DELETE FROM backstay.steps;
    DELETE FROM backstay.waits;
    RETURN NULL;
END
$$;

-- Refuse a statement that sets the id of a job.
CREATE FUNCTION backstay.ids_stay()
RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE restrict_violation USING MESSAGE = 'the id of a job stays as it is: other tables name it';
END
$$;

-- Refuse a job whose queue or category is none of those that its profile declares for its kind.
CREATE FUNCTION backstay.known_place()
RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    field text;
    value text;
BEGIN
    SELECT broken.field, broken.value INTO field, value
    FROM (
        SELECT 'profile' AS field, NEW.profile AS value, 0 AS place
        WHERE NOT EXISTS (SELECT 1 FROM backstay.profiles WHERE name = NEW.profile)
        UNION ALL
        SELECT 'queue', NEW.queue, 1
        WHERE EXISTS (SELECT 1 FROM backstay.lanes WHERE profile = NEW.profile)
          AND NOT EXISTS (
            SELECT 1
            FROM backstay.lanes
            WHERE profile = NEW.profile
              AND name = NEW.queue
              AND (kinds IS NULL OR kinds ? NEW.kind)
        )
        UNION ALL
        SELECT 'category', NEW.category, 2
        WHERE NEW.category IS NOT NULL
          AND EXISTS (SELECT 1 FROM backstay.categories WHERE profile = NEW.profile)
          AND NOT EXISTS (
            SELECT 1
            FROM backstay.categories
            WHERE profile = NEW.profile
              AND name = NEW.category
              AND (kinds IS NULL OR kinds ? NEW.kind)
        )
    ) AS broken
    ORDER BY broken.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING
            ERRCODE = 'foreign_key_violation',
            MESSAGE = format('%s cannot be %s: profile %s does not declare it for %s', field, value, NEW.profile, NEW.kind),
            HINT = 'Nothing was stored. After a change of the profile run backstay db migrate with its application.',
            COLUMN = field,
            CONSTRAINT = 'known_place';
    END IF;
    RETURN NEW;
END
$$;

-- Triggers

-- Asked for those jobs only whose application declares lanes or categories; no change of a row asks it.
CREATE TRIGGER known_place BEFORE INSERT ON backstay.jobs
FOR EACH ROW
WHEN (NEW.profile IS NOT NULL)
EXECUTE FUNCTION backstay.known_place();

CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.attempts
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.dependencies
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_parent AFTER INSERT OR UPDATE OF parent_id ON backstay.dependencies
FOR EACH ROW EXECUTE FUNCTION backstay.needs_parent();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.flow_jobs
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.measures
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.misfit_signatures
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.misfits
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.progress
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.signals
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.steps
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON backstay.waits
FOR EACH ROW EXECUTE FUNCTION backstay.needs_job();

CREATE TRIGGER go_with_jobs AFTER DELETE ON backstay.jobs
REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION backstay.go_with_jobs();

CREATE TRIGGER go_with_all_jobs AFTER TRUNCATE ON backstay.jobs
FOR EACH STATEMENT EXECUTE FUNCTION backstay.go_with_all_jobs();

-- For each statement, because a trigger for each row would cost every change of a job.
CREATE TRIGGER ids_stay BEFORE UPDATE OF id ON backstay.jobs
FOR EACH STATEMENT EXECUTE FUNCTION backstay.ids_stay();

-- Views

-- Every execution of a job: the attempts that ended otherwise, the one that runs and the one that completed it.
CREATE VIEW backstay.job_executions AS
SELECT
    ended.job_id,
    ended.run AS attempt_number,
    ended.attempt,
    ended.status,
    ended.started_at,
    ended.finished_at AS completed_at,
    ended.duration_ms,
    ended.worker AS worker_id,
    ended.error,
    used.cpu_ms,
    used.peak_rss_mb,
    CAST(ended.job_id AS text) || '/' || CAST(ended.lease_epoch AS text) AS id,
    ended.error ->> 'type' AS error_type,
    ended.error ->> 'message' AS error_message,
    ended.error ->> 'error_class' AS error_class,
    hands.host,
    about.kind,
    about.queue,
    about.tenant,
    about.metadata,
    ended.error ->> 'code' AS error_code,
    ended.error ->> 'traceback' AS error_stack
FROM backstay.attempts AS ended
JOIN backstay.jobs AS about
  ON about.id = ended.job_id
LEFT JOIN backstay.workers AS hands
  ON hands.id = ended.worker
LEFT JOIN backstay.measures AS used
  ON used.job_id = ended.job_id
 AND used.lease_epoch = ended.lease_epoch
UNION ALL
SELECT
    job.id,
    job.run,
    job.attempt,
    CASE job.state WHEN 'running' THEN 'started' ELSE 'completed' END,
    job.started_at,
    job.finished_at,
    job.duration_ms,
    job.worker,
    job.error,
    used.cpu_ms,
    used.peak_rss_mb,
    CAST(job.id AS text) || '/' || CAST(CASE job.state WHEN 'running' THEN job.lease_epoch ELSE job.settled_epoch END AS text),
    job.error ->> 'type',
    job.error ->> 'message',
    job.error ->> 'error_class',
    hands.host,
    job.kind,
    job.queue,
    job.tenant,
    job.metadata,
    job.error ->> 'code',
    job.error ->> 'traceback'
FROM backstay.jobs AS job
LEFT JOIN backstay.workers AS hands
  ON hands.id = job.worker
LEFT JOIN backstay.measures AS used
  ON used.job_id = job.id
 AND used.lease_epoch = job.settled_epoch
 AND job.state = 'completed'
WHERE job.state IN ('running', 'completed')
  AND job.started_at IS NOT NULL;

-- What applications may rely on of a job: these columns stay, whatever becomes of the tables. No arguments and no
-- results, which lists should not carry.
CREATE VIEW backstay.job_view AS
SELECT
    job.id,
    job.kind,
    job.queue,
    job.tenant,
    job.state,
    job.reason,
    job.priority,
    job.name,
    job.description,
    job.tags,
    job.metadata,
    job.created_by,
    job.parent_id,
    job.correlation_id,
    job.idempotency_key,
    job.attempt,
    job.max_attempts,
    job.run,
    job.created_at,
    COALESCE(job.first_due_at, job.run_at) AS first_due_at,
    job.run_at,
    GREATEST(job.created_at, job.run_at) AS queued_at,
    job.started_at,
    job.finished_at,
    job.updated_at,
    job.duration_ms,
    job.heartbeat_at,
    job.lease_expires_at,
    job.expires_at,
    job.deadline,
    job.cancel_requested_at,
    COALESCE(job.worker, job.settled_by) AS worker,
    hands.host,
    job.error ->> 'type' AS error_type,
    job.error ->> 'message' AS error_message,
    job.error ->> 'error_class' AS error_class,
    progress.current AS progress_current,
    progress.total AS progress_total,
    progress.message AS progress_message,
    progress.updated_at AS progress_at,
    ARRAY(
        SELECT DISTINCT tie.parent_id
        FROM backstay.dependencies AS tie
        WHERE tie.job_id = job.id
        ORDER BY 1
    ) AS depends_on,
    ARRAY(
        SELECT DISTINCT tie.job_id
        FROM backstay.dependencies AS tie
        WHERE tie.parent_id = job.id
        ORDER BY 1
    ) AS blocks_jobs
FROM backstay.jobs AS job
LEFT JOIN backstay.workers AS hands
  ON hands.id = COALESCE(job.worker, job.settled_by)
LEFT JOIN backstay.progress AS progress
  ON progress.job_id = job.id;

-- Working from SQL: written by tools/write_working_sql.py
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
            make_interval(secs => COALESCE((known.policy ->> 'lease_seconds')::float, 60)) AS lease,
            make_interval(secs => COALESCE((known.policy ->> 'timeout_seconds')::float, 300)) AS timeout,
            COALESCE((known.policy ->> 'max_attempts')::smallint, 4::smallint) AS max_attempts
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
        WITH -- The (queue, kind) pairs that one live worker asks for and that are not paused.
    wanted AS MATERIALIZED (
        SELECT
            pair.queue AS of_queue, pair.kind AS of_kind, pair.lease, pair.timeout, pair.max_attempts,
            CAST(p_clock AS timestamptz) AS at
        FROM unnest(
            p_queues::text[], p_kinds::text[], p_leases::interval[], p_timeouts::interval[], p_max_attempts::smallint[]
        ) AS pair (queue, kind, lease, timeout, max_attempts)
        WHERE EXISTS (
            SELECT 1
            FROM backstay.workers
            WHERE id = p_worker::text
              AND state = 'alive'
        )
          AND NOT EXISTS (
            SELECT 1
            FROM backstay.pauses
            WHERE (pauses.queue, pauses.kind) IN ((pair.queue, ''), ('', pair.kind))
        )
    ),
    pairs AS MATERIALIZED (
        SELECT count(*) AS number
        FROM wanted
    ),
    shares AS MATERIALIZED (
        SELECT wanted.of_queue, wanted.of_kind, p_limit::bigint AS number
        FROM wanted
        WHERE (SELECT number FROM pairs) = 1
        UNION ALL
        SELECT best.of_queue, best.of_kind, count(*)
        FROM (
            SELECT pair.of_queue, pair.of_kind
            FROM wanted AS pair
            CROSS JOIN LATERAL (
                SELECT turn, id
                FROM backstay.jobs
                WHERE
    state = 'available'
    AND NOT is_suspect
    AND jobs.queue = pair.of_queue
    AND jobs.kind = pair.of_kind
    AND jobs.turn >= p_since::timestamptz
                ORDER BY turn, id
                LIMIT p_limit::bigint
            ) AS head
            WHERE (SELECT number FROM pairs) > 1
            ORDER BY head.turn, head.id
            LIMIT p_limit::bigint
        ) AS best
        GROUP BY best.of_queue, best.of_kind
    ),
    heads AS MATERIALIZED (
        SELECT found.place
        FROM shares AS pair
        CROSS JOIN LATERAL (
            SELECT head.place
            FROM (
                SELECT ctid AS place
                FROM backstay.jobs
                WHERE
    state = 'available'
    AND NOT is_suspect
    AND jobs.queue = pair.of_queue
    AND jobs.kind = pair.of_kind
    AND jobs.turn >= p_since::timestamptz
                ORDER BY turn, id
                LIMIT p_limit::bigint
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS head
            LIMIT pair.number
        ) AS found
    ),
    missing AS MATERIALIZED (
        SELECT (SELECT sum(number) FROM shares) - (SELECT count(*) FROM heads) AS number
        FROM pairs
        WHERE pairs.number > 1
    ),
    instead AS MATERIALIZED (
        SELECT found.place
        FROM (
            SELECT of_queue, of_kind
            FROM wanted AS pair
            ORDER BY (
                SELECT turn
                FROM backstay.jobs
                WHERE
    state = 'available'
    AND NOT is_suspect
    AND jobs.queue = pair.of_queue
    AND jobs.kind = pair.of_kind
    AND jobs.turn >= p_since::timestamptz
                    AND ctid <> ALL (ARRAY(SELECT place FROM heads))
                ORDER BY turn, id
                LIMIT 1
            )
        ) AS pair
        CROSS JOIN LATERAL (
            SELECT ctid AS place
            FROM backstay.jobs
            WHERE
    state = 'available'
    AND NOT is_suspect
    AND jobs.queue = pair.of_queue
    AND jobs.kind = pair.of_kind
    AND jobs.turn >= p_since::timestamptz
                AND ctid <> ALL (ARRAY(SELECT place FROM heads))
            ORDER BY turn, id
            LIMIT p_limit::bigint
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS found
        WHERE (SELECT number FROM missing) > 0
        LIMIT (SELECT number FROM missing)
    ),
    picked AS (
        SELECT place FROM heads
        UNION ALL
        SELECT place FROM instead
    ),
    suspects AS MATERIALIZED (
        SELECT found.place
        FROM wanted
        CROSS JOIN LATERAL (
            SELECT ctid AS place
            FROM backstay.jobs
            WHERE state = 'available'
              AND is_suspect
              AND jobs.queue = wanted.of_queue
              AND jobs.kind = wanted.of_kind
            ORDER BY turn, id
            LIMIT p_suspects::bigint
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS found
        LIMIT p_suspects::bigint
    )
    UPDATE backstay.jobs AS job
    SET state = 'running',
        attempt = job.attempt + 1,
        run = job.run + 1,
        lease_epoch = job.lease_epoch + 1,
        max_attempts = GREATEST(COALESCE(job.own_max_attempts, wanted.max_attempts), job.attempt + 1),
        timeout = COALESCE(job.own_timeout, wanted.timeout),
        lease = COALESCE(job.own_lease, wanted.lease),
        lease_expires_at = wanted.at + COALESCE(job.own_lease, wanted.lease),
        heartbeat_at = wanted.at,
        started_at = wanted.at,
        updated_at = wanted.at,
        duration_ms = NULL,
        reason = NULL,
        parked_for = NULL,
        worker = p_worker,
        claim_id = p_claim_id
    FROM wanted
    WHERE job.ctid = ANY (ARRAY(SELECT place FROM picked UNION ALL SELECT place FROM suspects))
      AND wanted.of_queue = job.queue
      AND wanted.of_kind = job.kind
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
    UPDATE backstay.jobs AS job
    SET lease_expires_at = clock.at + job.lease,
        heartbeat_at = clock.at,
        updated_at = clock.at
    FROM (SELECT job_id, epoch FROM unnest(CAST(p_job_id AS uuid[]), CAST(p_epoch AS integer[])) AS value (job_id, epoch)) AS given
    CROSS JOIN (SELECT CAST(p_clock AS timestamptz) AS at) AS clock
    WHERE job.id = given.job_id
      AND job.lease_epoch = given.epoch
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
    most := COALESCE((known.policy ->> 'max_result_bytes')::integer, 1048576);
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
    WITH done AS (
        UPDATE backstay.jobs AS job
    SET state = 'completed',
        error = NULL,
        lease_epoch = job.lease_epoch + 1,
        settled_epoch = job.lease_epoch,
        settled_by = job.worker,
        lease_expires_at = NULL,
        heartbeat_at = NULL,
        claim_id = NULL,
        is_suspect = FALSE,
        crashes_in_row = 0,
        finished_at = clock.at,
        updated_at = clock.at,
        duration_ms = GREATEST((date_part('epoch', clock.at - job.started_at) * 1000)::bigint, 0),
            result = given.value
        FROM (SELECT job_id, epoch, value FROM unnest(CAST(p_job_id AS uuid[]), CAST(p_epoch AS integer[]), CAST(p_value AS json[])) AS value (job_id, epoch, value)) AS given
        CROSS JOIN (SELECT CAST(p_clock AS timestamptz) AS at) AS clock
        WHERE job.id = given.job_id
          AND job.lease_epoch = given.epoch
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
-- End of working from SQL
