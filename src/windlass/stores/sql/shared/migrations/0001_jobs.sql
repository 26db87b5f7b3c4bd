-- The tables of the engine: jobs, their attempts and dead letters, kinds, workers and the audit trail.
-- A {word} is text that is compared byte by byte: a language's rules of sorting would slow every index down.

-- First what is always there and of one size, then what is always there, then what a running job has, then the rest:
-- a change of a row looks at every indexed column, and finds the ones that stand in front without a search.
CREATE TABLE windlass.jobs (
    id {uuid} NOT NULL PRIMARY KEY,
    run_at {timestamp} NOT NULL,
    turn {timestamp} NOT NULL,
    created_at {timestamp} NOT NULL,
    updated_at {timestamp} NOT NULL,
    lease_epoch integer NOT NULL DEFAULT 0,
    run integer NOT NULL DEFAULT 0,
    priority smallint NOT NULL,
    attempt smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    is_suspect boolean NOT NULL DEFAULT FALSE,
    is_awaited boolean NOT NULL DEFAULT FALSE,
    state {word} NOT NULL,
    kind {word} NOT NULL,
    queue {word} NOT NULL,
    tenant {word} NOT NULL DEFAULT '',
    args {json} NOT NULL,
    worker {word},
    started_at {timestamp},
    finished_at {timestamp},
    heartbeat_at {timestamp},
    lease_expires_at {timestamp},
    reason text,
    result {json},
    settled_epoch integer,
    settled_by text,
    claim_id {uuid},
    duration_ms bigint,
    max_attempts smallint,
    lease {interval},
    timeout {interval},
    error {json},
    progress {json},
    own_max_attempts smallint,
    own_timeout {interval},
    own_lease {interval},
    policy {json},
    tags {jsonb},
    metadata {jsonb},
    name text,
    description text,
    parent_id {uuid},
    correlation_id text,
    created_by text,
    idempotency_key text,
    unique_key text,
    expires_at {timestamp},
    deadline {timestamp},
    cancel_requested_at {timestamp},
    cancel_reason text,
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

CREATE INDEX jobs_claim ON windlass.jobs (queue, kind, turn, id)
WHERE state = 'available' AND NOT is_suspect;

CREATE INDEX jobs_claim_suspect ON windlass.jobs (queue, kind, turn, id)
WHERE state = 'available' AND is_suspect;

CREATE INDEX jobs_due ON windlass.jobs (run_at, id)
WHERE state = 'scheduled';

CREATE INDEX jobs_held ON windlass.jobs (reason, id)
WHERE state = 'held';

CREATE INDEX jobs_running ON windlass.jobs (worker, id)
WHERE state = 'running';

CREATE INDEX jobs_dead ON windlass.jobs (finished_at, id)
WHERE state = 'dead';

CREATE INDEX jobs_expiring ON windlass.jobs (expires_at)
WHERE expires_at IS NOT NULL AND run = 0 AND state IN ('scheduled', 'held', 'available');

CREATE INDEX jobs_deadline ON windlass.jobs (deadline)
WHERE deadline IS NOT NULL AND state IN ('scheduled', 'held', 'available');

CREATE INDEX jobs_parent ON windlass.jobs (parent_id, id)
WHERE parent_id IS NOT NULL;

CREATE INDEX jobs_correlation ON windlass.jobs (correlation_id, id)
WHERE correlation_id IS NOT NULL;

CREATE UNIQUE INDEX jobs_unique_active ON windlass.jobs (tenant, unique_key)
WHERE unique_key IS NOT NULL AND state IN ('scheduled', 'held', 'available', 'running');

CREATE TABLE windlass.attempts (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    attempt smallint NOT NULL,
    run integer NOT NULL,
    status text NOT NULL,
    worker text,
    started_at {timestamp} NOT NULL,
    finished_at {timestamp} NOT NULL,
    duration_ms bigint NOT NULL,
    error {json},
    PRIMARY KEY (job_id, lease_epoch),
    CONSTRAINT known_status CHECK (
        status IN ('completed', 'failed', 'timeout', 'cancelled', 'released', 'snoozed', 'crashed')
    ),
    CONSTRAINT finished_after_start CHECK (finished_at >= started_at)
);

CREATE TABLE windlass.dead_letters (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    tenant text NOT NULL DEFAULT '',
    kind text NOT NULL,
    queue text NOT NULL,
    reason text NOT NULL,
    fingerprint {word} NOT NULL DEFAULT '',
    error {json},
    attempts integer NOT NULL,
    first_attempted_at {timestamp},
    died_at {timestamp} NOT NULL,
    status text NOT NULL DEFAULT 'new',
    owner text,
    note text,
    resolution text,
    resolved_by text,
    resolved_at {timestamp},
    changed_by text,
    changed_at {timestamp},
    version integer NOT NULL DEFAULT 1,
    PRIMARY KEY (job_id, lease_epoch),
    CONSTRAINT known_status CHECK (status IN ('new', 'investigating', 'resolved', 'ignored', 'retried')),
    CONSTRAINT investigation_has_owner CHECK (status <> 'investigating' OR owner IS NOT NULL),
    CONSTRAINT resolution_has_author CHECK (
        status IN ('new', 'investigating')
        OR (resolution IS NOT NULL AND resolved_by IS NOT NULL AND resolved_at IS NOT NULL)
    )
);

CREATE INDEX dead_letters_open ON windlass.dead_letters (died_at, job_id)
WHERE status IN ('new', 'investigating');

CREATE INDEX dead_letters_cause ON windlass.dead_letters (fingerprint, died_at, job_id)
WHERE status IN ('new', 'investigating') AND fingerprint <> '';

CREATE TABLE windlass.kinds (
    kind text NOT NULL PRIMARY KEY,
    queue text NOT NULL,
    policy {jsonb},
    promoted {jsonb},
    arguments {jsonb},
    fingerprint text NOT NULL,
    description text,
    declared_by text,
    updated_at {timestamp} NOT NULL,
    conflict {jsonb}
);

CREATE TABLE windlass.routes (
    queue text NOT NULL,
    kind text NOT NULL,
    PRIMARY KEY (queue, kind)
);

CREATE TABLE windlass.idempotency_keys (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    fingerprint text NOT NULL,
    job_id {uuid} NOT NULL,
    expires_at {timestamp} NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX idempotency_keys_expiring ON windlass.idempotency_keys (expires_at);

CREATE TABLE windlass.unique_windows (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    window_number bigint NOT NULL,
    job_id {uuid} NOT NULL,
    expires_at {timestamp} NOT NULL,
    PRIMARY KEY (tenant, key, window_number)
);

CREATE INDEX unique_windows_expiring ON windlass.unique_windows (expires_at);

CREATE TABLE windlass.workers (
    id text NOT NULL PRIMARY KEY,
    state text NOT NULL,
    host text NOT NULL,
    boot_id text,
    pid integer NOT NULL,
    process_started {timestamp},
    version text NOT NULL,
    kinds {jsonb} NOT NULL,
    queues {jsonb} NOT NULL,
    concurrency integer NOT NULL,
    running integer NOT NULL DEFAULT 0,
    started_at {timestamp} NOT NULL,
    heartbeat_at {timestamp} NOT NULL,
    stopped_at {timestamp},
    CONSTRAINT known_state CHECK (state IN ('alive', 'stopping', 'stopped', 'dead'))
);

CREATE TABLE windlass.leaders (
    duty text NOT NULL PRIMARY KEY,
    worker text NOT NULL,
    expires_at {timestamp} NOT NULL
);

CREATE TABLE windlass.pauses (
    queue text NOT NULL DEFAULT '',
    kind text NOT NULL DEFAULT '',
    paused_at {timestamp} NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (queue, kind),
    CONSTRAINT queue_or_kind CHECK ((queue = '') <> (kind = ''))
);

CREATE TABLE windlass.audit (
    id {serial},
    at {timestamp} NOT NULL,
    tenant text NOT NULL DEFAULT '',
    actor text NOT NULL,
    action text NOT NULL,
    job_id {uuid},
    from_state text,
    to_state text,
    reason text,
    details {json}
);

CREATE INDEX audit_of_job ON windlass.audit (job_id, id)
WHERE job_id IS NOT NULL;

CREATE VIEW windlass.job_executions AS
SELECT
    job_id,
    run AS attempt_number,
    attempt,
    status,
    started_at,
    finished_at AS completed_at,
    duration_ms,
    worker AS worker_id,
    error
FROM windlass.attempts
UNION ALL
SELECT
    id,
    run,
    attempt,
    CASE state WHEN 'running' THEN 'started' ELSE 'completed' END,
    started_at,
    finished_at,
    duration_ms,
    worker,
    error
FROM windlass.jobs
WHERE state IN ('running', 'completed')
  AND started_at IS NOT NULL;
