-- The whole schema of this release: tables with their indexes, then views.
--
-- Moments are microseconds since 1970 in UTC and spans of time are microseconds, both as integers; ids and JSON are
-- text. SQLite goes only by parts of a type's name, such as "int" and "text"; the rest tells people what is meant.

-- Jobs

-- Columns are ordered by how often they are set: first those that always are and have one size, then the others that
-- always are, then those of a running job, then the rest. A change of a row compares every indexed column, and a column
-- near the front is found without walking over others.
CREATE TABLE backstay.jobs (
    id text NOT NULL PRIMARY KEY,
    run_at integer NOT NULL,
    -- The order of claims: when the job is due, moved by its priority.
    turn integer NOT NULL,
    created_at integer NOT NULL,
    updated_at integer NOT NULL,
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
    state text NOT NULL,
    kind text NOT NULL,
    queue text NOT NULL,
    tenant text NOT NULL DEFAULT '',
    args text NOT NULL,
    worker text,
    started_at integer,
    finished_at integer,
    heartbeat_at integer,
    lease_expires_at integer,
    reason text,
    result text,
    -- The epoch that was settled last: a settlement whose reply was lost can be sent again and is recognised.
    settled_epoch integer,
    settled_by text,
    claim_id text,
    duration_ms bigint,
    max_attempts smallint,
    lease integer,
    timeout integer,
    error text,
    own_max_attempts smallint,
    own_timeout integer,
    own_lease integer,
    policy text,
    tags text,
    metadata text,
    name text,
    description text,
    parent_id text,
    correlation_id text,
    created_by text,
    idempotency_key text,
    unique_key text,
    expires_at integer,
    deadline integer,
    cancel_requested_at integer,
    cancel_reason text,
    -- The limit that a held job waits for, and the key whose jobs run one after the other.
    parked_for text,
    order_key text,
    -- When it was due at first, kept once another attempt has changed run_at.
    first_due_at integer,
    -- The profile whose lanes and categories hold for it, where it has any, and its category there.
    profile text,
    category text,
    CONSTRAINT priority_in_range CHECK (priority BETWEEN 1 AND 10),
    CONSTRAINT attempt_within_limit CHECK (attempt >= 0 AND (max_attempts IS NULL OR attempt <= max_attempts)),
    -- One rule for all states, because it is checked on every write: a lease and an odd epoch while running and only
    -- then, an end when it has ended, a reason wherever a person would ask for one, a result on success alone.
    CONSTRAINT fields_fit_state CHECK (
        CASE state
            WHEN 'available' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NULL
                AND result IS NULL
            WHEN 'running' THEN
                lease_epoch % 2 = 1 AND lease_expires_at IS NOT NULL AND finished_at IS NULL AND result IS NULL
            WHEN 'completed' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NOT NULL
            WHEN 'scheduled' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NULL
                AND result IS NULL
            WHEN 'held' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NULL
                AND result IS NULL AND reason IS NOT NULL
            WHEN 'dead' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NOT NULL
                AND result IS NULL AND reason IS NOT NULL
            WHEN 'resolved' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NOT NULL
                AND result IS NULL AND reason IS NOT NULL
            WHEN 'cancelled' THEN
                lease_epoch % 2 = 0 AND lease_expires_at IS NULL AND heartbeat_at IS NULL AND finished_at IS NOT NULL
                AND result IS NULL AND reason IS NOT NULL
            ELSE FALSE
        END
    )
);

-- Each index is partial and answers one question, so a finished job is in almost none of them.

CREATE INDEX jobs_claim ON backstay.jobs (queue, kind, turn, id)
WHERE state = 'available' AND NOT is_suspect;

CREATE INDEX jobs_claim_suspect ON backstay.jobs (queue, kind, turn, id)
WHERE state = 'available' AND is_suspect;

CREATE INDEX jobs_due ON backstay.jobs (run_at, id)
WHERE state = 'scheduled';

CREATE INDEX jobs_held ON backstay.jobs (reason, id)
WHERE state = 'held';

CREATE INDEX jobs_running ON backstay.jobs (worker, id)
WHERE state = 'running';

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

-- Attempts that have ended, except the one that completed its job: that one is in the job's row.
CREATE TABLE backstay.attempts (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    attempt smallint NOT NULL,
    run integer NOT NULL,
    status text NOT NULL,
    worker text,
    started_at integer NOT NULL,
    finished_at integer NOT NULL,
    duration_ms bigint NOT NULL,
    error text,
    PRIMARY KEY (job_id, lease_epoch),
    CONSTRAINT known_status CHECK (
        status IN ('completed', 'failed', 'timeout', 'cancelled', 'released', 'snoozed', 'crashed')
    ),
    CONSTRAINT finished_after_start CHECK (finished_at >= started_at)
);

-- What attempts in processes of their own have used. Not in jobs and attempts: most attempts are not measured, and
-- every job writes to those tables.
CREATE TABLE backstay.measures (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    cpu_ms bigint NOT NULL,
    peak_rss_mb integer NOT NULL,
    PRIMARY KEY (job_id, lease_epoch)
);

-- What handlers remember (steps) and report (progress) while they run. Not in jobs: a job's row is wide, its indexes
-- are partial on its state, and claims and settlements would pay for a new version of it whenever a handler writes.
CREATE TABLE backstay.steps (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    name text NOT NULL,
    position integer NOT NULL,
    lease_epoch integer NOT NULL,
    attempt smallint NOT NULL,
    run integer NOT NULL,
    worker text,
    result text,
    duration_ms bigint NOT NULL,
    finished_at integer NOT NULL,
    PRIMARY KEY (job_id, name)
);

CREATE TABLE backstay.progress (
    job_id text NOT NULL PRIMARY KEY REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    current double precision NOT NULL,
    total double precision,
    message text,
    updated_at integer NOT NULL,
    CONSTRAINT progress_is_counted CHECK (current >= 0 AND (total IS NULL OR total > 0))
);

-- What jobs receive from outside (signals), and what their handlers wait for (waits). Not in jobs: few jobs have any.

-- The position of a signal among those of its name is given under the lock of the job's row and never changes: a
-- handler that runs again must get the same answers as before.
CREATE TABLE backstay.signals (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    name text NOT NULL,
    position integer NOT NULL,
    key text NOT NULL,
    payload text,
    sent_by text NOT NULL,
    sent_at integer NOT NULL,
    PRIMARY KEY (job_id, name, position),
    CONSTRAINT position_is_counted CHECK (position > 0)
);

CREATE UNIQUE INDEX signals_once ON backstay.signals (job_id, name, key);

-- The n-th wait of a handler for a name. One that timed out is remembered as long as the job exists; the deadline is
-- that of the first time the handler waited, however often the job runs.
CREATE TABLE backstay.waits (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    name text NOT NULL,
    number integer NOT NULL,
    position integer NOT NULL,
    is_open boolean NOT NULL,
    waiting_since integer NOT NULL,
    times_out_at integer,
    timed_out_at integer,
    PRIMARY KEY (job_id, name, number),
    CONSTRAINT timed_out_is_closed CHECK (timed_out_at IS NULL OR NOT is_open)
);

CREATE INDEX waits_due ON backstay.waits (times_out_at, job_id)
WHERE is_open AND times_out_at IS NOT NULL;

-- Jobs whose arguments did not fit the code of the worker that took them (misfits), and what they did not fit
-- (misfit_signatures). `attempt` is the one that could not begin: another number means that the job ran in between.
CREATE TABLE backstay.misfits (
    job_id text NOT NULL PRIMARY KEY REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    kind text NOT NULL,
    attempt smallint NOT NULL,
    is_open boolean NOT NULL,
    times integer NOT NULL,
    again_at integer NOT NULL,
    gives_up_at integer NOT NULL,
    CONSTRAINT times_are_counted CHECK (times > 0)
);

CREATE INDEX misfits_open ON backstay.misfits (again_at, job_id)
WHERE is_open;

CREATE TABLE backstay.misfit_signatures (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    signature text NOT NULL,
    PRIMARY KEY (job_id, signature)
);

-- One row for each death of a job, and what people decided about it. Retention may remove the job before its letters.
CREATE TABLE backstay.dead_letters (
    job_id text NOT NULL,
    lease_epoch integer NOT NULL,
    tenant text NOT NULL DEFAULT '',
    kind text NOT NULL,
    queue text NOT NULL,
    reason text NOT NULL,
    fingerprint text NOT NULL DEFAULT '',
    error text,
    attempts integer NOT NULL,
    first_attempted_at integer,
    died_at integer NOT NULL,
    status text NOT NULL DEFAULT 'new',
    owner text,
    note text,
    resolution text,
    resolved_by text,
    resolved_at integer,
    changed_by text,
    changed_at integer,
    version integer NOT NULL DEFAULT 1,
    -- The arguments that it died with, beside those that a retry may have given it since.
    args text,
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
    job_id text NOT NULL,
    expires_at integer NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX idempotency_keys_expiring ON backstay.idempotency_keys (expires_at);

-- Unique keys that hold for a window of time; those that hold while their job is active are in jobs.
CREATE TABLE backstay.unique_windows (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    window_number bigint NOT NULL,
    job_id text NOT NULL,
    expires_at integer NOT NULL,
    PRIMARY KEY (tenant, key, window_number)
);

CREATE INDEX unique_windows_expiring ON backstay.unique_windows (expires_at);

-- The job that was stored last under a key whose jobs wait until no more come.
CREATE TABLE backstay.debounces (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    job_id text NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX debounces_of_job ON backstay.debounces (job_id);

-- Flows: jobs that wait for other jobs. Not in jobs: a job without parents and children pays nothing, and storing a
-- child writes to no row of a parent.

CREATE TABLE backstay.flows (
    id text NOT NULL PRIMARY KEY,
    tenant text NOT NULL DEFAULT '',
    name text NOT NULL,
    callback_id text,
    created_by text,
    created_at integer NOT NULL
);

CREATE TABLE backstay.flow_jobs (
    job_id text NOT NULL PRIMARY KEY REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    flow_id text NOT NULL REFERENCES backstay.flows (id) ON DELETE CASCADE,
    label text
);

CREATE INDEX flow_jobs_of_flow ON backstay.flow_jobs (flow_id, job_id);

CREATE TABLE backstay.dependencies (
    job_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    parent_id text NOT NULL REFERENCES backstay.jobs (id) ON DELETE CASCADE,
    -- Where in the arguments the parent's result belongs, as a JSON pointer; one parent may fill several places.
    place text NOT NULL DEFAULT '',
    type text NOT NULL,
    condition text,
    on_failure text NOT NULL DEFAULT 'cancel',
    verdict text,
    decided_at integer,
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
    policy text,
    promoted text,
    arguments text,
    fingerprint text NOT NULL,
    description text,
    declared_by text,
    updated_at integer NOT NULL,
    -- The declaration before this one, if it was another: two programs may disagree.
    conflict text,
    -- The template of the key by which jobs of the kind run one after the other.
    ordered_by text,
    -- The kinds whose jobs are stored when jobs of this kind end, by how they end.
    reactions text,
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
    change text NOT NULL,
    set_at integer NOT NULL,
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
    priorities text NOT NULL,
    tenant_alias text NOT NULL,
    updated_at integer NOT NULL
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
    kinds text,
    PRIMARY KEY (profile, name)
);

CREATE TABLE backstay.categories (
    profile text NOT NULL REFERENCES backstay.profiles (name) ON DELETE CASCADE,
    name text NOT NULL,
    kinds text,
    PRIMARY KEY (profile, name)
);

-- Pauses, of a queue or of a kind

CREATE TABLE backstay.pauses (
    queue text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    paused_at integer NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    ends_at integer,
    PRIMARY KEY (queue, kind),
    CONSTRAINT queue_or_kind CHECK ((queue = '') <> (kind = ''))
);

-- Tenants

-- A pause that is over stays until every job that it has held is released.
CREATE TABLE backstay.tenant_pauses (
    tenant text NOT NULL PRIMARY KEY,
    paused_at integer NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    ends_at integer,
    CONSTRAINT tenant_is_named CHECK (tenant <> '')
);

-- How many jobs may wait: of one tenant, or of each (''); in one queue, or in all ('').
CREATE TABLE backstay.quotas (
    tenant text NOT NULL DEFAULT '',
    queue text NOT NULL DEFAULT '',
    most integer NOT NULL,
    set_at integer NOT NULL,
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
    key text NOT NULL PRIMARY KEY,
    most integer NOT NULL,
    every integer NOT NULL,
    yields boolean NOT NULL,
    spent_until integer NOT NULL,
    next_at integer,
    CONSTRAINT limit_is_positive CHECK (most > 0)
);

CREATE INDEX limits_due ON backstay.limits (next_at)
WHERE next_at IS NOT NULL;

-- A permit counts exactly while its job runs under its epoch, whoever ends that and however. Rows are never changed,
-- only added and removed, so one that has served can be removed at any time.
CREATE TABLE backstay.permits (
    limit_key text NOT NULL,
    job_id text NOT NULL,
    lease_epoch integer NOT NULL,
    PRIMARY KEY (limit_key, job_id, lease_epoch)
);

CREATE INDEX permits_of_job ON backstay.permits (job_id);

-- Schedules

-- The definition is one document, because it is read and written as a whole; beside it are the few columns that
-- statements compare. What operators change, overrides and pauses, has columns of its own, which a declaration by code
-- never touches.
CREATE TABLE backstay.schedules (
    id text NOT NULL PRIMARY KEY,
    tenant text NOT NULL DEFAULT '',
    name text NOT NULL,
    kind text NOT NULL,
    source text NOT NULL,
    definition text NOT NULL,
    overrides text,
    declared_by text NOT NULL,
    is_active boolean NOT NULL,
    max_runs integer,
    next_fire_at integer,
    last_fire_at integer,
    run_count integer NOT NULL DEFAULT 0,
    missed_count bigint NOT NULL DEFAULT 0,
    paused_at integer,
    paused_by text,
    pause_reason text,
    tzdata text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at integer NOT NULL,
    updated_at integer NOT NULL,
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
    schedule_id text NOT NULL REFERENCES backstay.schedules (id) ON DELETE CASCADE,
    fire_time integer NOT NULL,
    reference_time integer NOT NULL,
    trigger_source text NOT NULL,
    status text NOT NULL,
    is_open boolean NOT NULL,
    job_id text,
    reason text,
    missed integer NOT NULL DEFAULT 0,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    -- From here on: filled when retention removes the job, so that the history outlives it.
    state text,
    started_at integer,
    finished_at integer,
    duration_ms bigint,
    attempt smallint,
    worker text,
    result text,
    error text,
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
    tenant text NOT NULL DEFAULT '',
    id text NOT NULL,
    holder text NOT NULL,
    job_id text,
    fence bigint NOT NULL,
    locked_at integer NOT NULL,
    expires_at integer NOT NULL,
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
    process_started integer,
    version text NOT NULL,
    kinds text NOT NULL,
    queues text NOT NULL,
    concurrency integer NOT NULL,
    running integer NOT NULL DEFAULT 0,
    started_at integer NOT NULL,
    heartbeat_at integer NOT NULL,
    stopped_at integer,
    type text NOT NULL DEFAULT 'general',
    settled bigint NOT NULL DEFAULT 0,
    tainted integer NOT NULL DEFAULT 0,
    cpu_percent real,
    rss_mb integer,
    loop_lag_ms integer,
    -- What somebody told it to do last, which it reads with every sign of life.
    told text,
    told_by text,
    told_at integer,
    CONSTRAINT known_state CHECK (state IN ('alive', 'stopping', 'stopped', 'dead')),
    CONSTRAINT known_order CHECK (told IN ('drain', 'resume', 'stop'))
);

-- What each worker reads the arguments of a kind by; a job that was refused by one signature waits for another.
CREATE TABLE backstay.worker_signatures (
    worker text NOT NULL,
    kind text NOT NULL,
    signature text NOT NULL,
    PRIMARY KEY (worker, kind)
);

CREATE INDEX worker_signatures_of_kind ON backstay.worker_signatures (kind, signature);

-- How attempts ended that were worked from SQL, until maintenance has decided what follows. A row counts while its job
-- has this epoch.
CREATE TABLE backstay.reports (
    job_id text NOT NULL PRIMARY KEY,
    epoch integer NOT NULL,
    outcome text NOT NULL,
    reported_at integer NOT NULL
);

-- The worker that has a duty which only one may have at a time.
CREATE TABLE backstay.leaders (
    duty text NOT NULL PRIMARY KEY,
    worker text NOT NULL,
    expires_at integer NOT NULL
);

-- Figures

-- How many attempts ended in a minute or an hour, by how and by how long they took: bucket n holds those below 2^n ms.
-- Workers add what they have counted in memory every few seconds.
CREATE TABLE backstay.figures (
    period text NOT NULL,
    at integer NOT NULL,
    queue text NOT NULL,
    kind text NOT NULL,
    measure text NOT NULL,
    bucket integer NOT NULL,
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
    updated_at integer NOT NULL
);

-- The audit trail

CREATE TABLE backstay.audit (
    id integer PRIMARY KEY AUTOINCREMENT,
    at integer NOT NULL,
    tenant text NOT NULL DEFAULT '',
    actor text NOT NULL,
    action text NOT NULL,
    job_id text,
    from_state text,
    to_state text,
    reason text,
    -- From where it was asked for: an address and a key, a command.
    source text,
    details text
);

CREATE INDEX audit_of_job ON backstay.audit (job_id, id)
WHERE job_id IS NOT NULL;

-- Triggers

-- Refuse a job whose queue or category is none of those that its profile declares for its kind. What RAISE says must be
-- constant before SQLite 3.47.
CREATE TRIGGER backstay.known_place BEFORE INSERT ON backstay.jobs
WHEN NEW.profile IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'known place profile must be one that was migrated')
    WHERE NOT EXISTS (SELECT 1 FROM backstay.profiles WHERE name = NEW.profile);
    SELECT RAISE(ABORT, 'known place queue must be a lane that its profile declares for its kind')
    WHERE EXISTS (SELECT 1 FROM backstay.lanes WHERE profile = NEW.profile)
      AND NOT EXISTS (
        SELECT 1
        FROM backstay.lanes
        WHERE profile = NEW.profile
          AND name = NEW.queue
          AND (kinds IS NULL OR EXISTS (SELECT 1 FROM json_each(kinds) WHERE value = NEW.kind))
    );
    SELECT RAISE(ABORT, 'known place category must be one that its profile declares for its kind')
    WHERE NEW.category IS NOT NULL
      AND EXISTS (SELECT 1 FROM backstay.categories WHERE profile = NEW.profile)
      AND NOT EXISTS (
        SELECT 1
        FROM backstay.categories
        WHERE profile = NEW.profile
          AND name = NEW.category
          AND (kinds IS NULL OR EXISTS (SELECT 1 FROM json_each(kinds) WHERE value = NEW.kind))
    );
END;

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
    json_extract(ended.error, '$.type') AS error_type,
    json_extract(ended.error, '$.message') AS error_message,
    json_extract(ended.error, '$.error_class') AS error_class,
    hands.host,
    about.kind,
    about.queue,
    about.tenant,
    about.metadata,
    json_extract(ended.error, '$.code') AS error_code,
    json_extract(ended.error, '$.traceback') AS error_stack
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
    json_extract(job.error, '$.type'),
    json_extract(job.error, '$.message'),
    json_extract(job.error, '$.error_class'),
    hands.host,
    job.kind,
    job.queue,
    job.tenant,
    job.metadata,
    json_extract(job.error, '$.code'),
    json_extract(job.error, '$.traceback')
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
    max(job.created_at, job.run_at) AS queued_at,
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
    json_extract(job.error, '$.type') AS error_type,
    json_extract(job.error, '$.message') AS error_message,
    json_extract(job.error, '$.error_class') AS error_class,
    progress.current AS progress_current,
    progress.total AS progress_total,
    progress.message AS progress_message,
    progress.updated_at AS progress_at,
    (
        SELECT json_group_array(tied.id)
        FROM (
            SELECT DISTINCT tie.parent_id AS id
            FROM backstay.dependencies AS tie
            WHERE tie.job_id = job.id
            ORDER BY 1
        ) AS tied
    ) AS depends_on,
    (
        SELECT json_group_array(tied.id)
        FROM (
            SELECT DISTINCT tie.job_id AS id
            FROM backstay.dependencies AS tie
            WHERE tie.parent_id = job.id
            ORDER BY 1
        ) AS tied
    ) AS blocks_jobs
FROM backstay.jobs AS job
LEFT JOIN backstay.workers AS hands
  ON hands.id = COALESCE(job.worker, job.settled_by)
LEFT JOIN backstay.progress AS progress
  ON progress.job_id = job.id;
