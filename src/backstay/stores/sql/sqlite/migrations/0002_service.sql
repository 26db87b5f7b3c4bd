-- What the HTTP service keeps: API keys, answered requests, webhooks, alerts, the chain of the audit trail, and live
-- status.

-- API keys

-- Only a hash of each key is kept. The prefix is shown, and finds it.
CREATE TABLE backstay.api_keys (
    prefix text NOT NULL PRIMARY KEY,
    digest text NOT NULL,
    name text NOT NULL,
    -- "*" stands for all tenants.
    tenant text NOT NULL DEFAULT '',
    role text NOT NULL,
    scopes text,
    sees_payloads boolean NOT NULL DEFAULT FALSE,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    expires_at integer,
    last_used_at integer,
    revoked_at integer,
    revoked_by text,
    replaced_by text,
    CONSTRAINT known_role CHECK (role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT revoked_by_somebody CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);

-- Requests that were sent with an Idempotency-Key, and how they were answered

CREATE TABLE backstay.api_requests (
    scope text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    reserved_at integer NOT NULL,
    expires_at integer NOT NULL,
    status smallint,
    content_type text,
    body text,
    PRIMARY KEY (scope, key),
    CONSTRAINT answered_whole CHECK ((status IS NULL) = (body IS NULL) AND (status IS NULL) = (content_type IS NULL))
);

CREATE INDEX api_requests_expiring ON backstay.api_requests (expires_at);

-- Webhooks: who is told of which ends

CREATE TABLE backstay.webhooks (
    id text NOT NULL PRIMARY KEY,
    tenant text NOT NULL DEFAULT '',
    name text NOT NULL,
    url text NOT NULL,
    events text NOT NULL,
    kinds text,
    form text NOT NULL,
    secret text NOT NULL,
    -- Still signed with, so that a receiver has time to learn the new one.
    old_secret text,
    old_secret_until integer,
    is_enabled boolean NOT NULL DEFAULT TRUE,
    created_at integer NOT NULL,
    created_by text NOT NULL,
    updated_at integer NOT NULL,
    CONSTRAINT known_form CHECK (form IN ('standard', 'sha256'))
);

CREATE INDEX webhooks_of_tenant ON backstay.webhooks (tenant);

-- Alerts: each fires once until it is cleared

CREATE TABLE backstay.alerts (
    id text NOT NULL PRIMARY KEY,
    rule text NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    action text NOT NULL,
    value real NOT NULL,
    threshold real NOT NULL,
    fired_at integer NOT NULL,
    -- When people were told; none while nobody was, or the rule is muted.
    announced_at integer,
    cleared_at integer,
    CONSTRAINT known_severity CHECK (severity IN ('info', 'warning', 'critical'))
);

CREATE UNIQUE INDEX alerts_active ON backstay.alerts (rule)
WHERE cleared_at IS NULL;

CREATE INDEX alerts_newest ON backstay.alerts (fired_at);

CREATE TABLE backstay.alert_mutes (
    rule text NOT NULL PRIMARY KEY,
    muted_until integer NOT NULL,
    muted_by text NOT NULL,
    reason text NOT NULL
);

-- The chain of the audit trail, one for each tenant: whoever changes, removes or moves a line breaks it

CREATE TABLE backstay.audit_chain (
    tenant text NOT NULL,
    sequence bigint NOT NULL,
    audit_id bigint NOT NULL,
    previous_hash text NOT NULL,
    hash text NOT NULL,
    chained_at integer NOT NULL,
    PRIMARY KEY (tenant, sequence)
);

CREATE UNIQUE INDEX audit_chain_of_line ON backstay.audit_chain (audit_id);

-- Live status: who listens (listeners), and what happens to the jobs they listen to (outbox)

-- A topic is all, tenant:<name>, queue:<name>, kind:<name>, flow:<id> or job:<id>. Whoever listens to the same topic
-- shares its row. Every change after the position `since` is in the outbox; NULL until those transactions have ended
-- that were under way when the row came.
CREATE TABLE backstay.listeners (
    topic text NOT NULL PRIMARY KEY,
    started_at integer NOT NULL,
    -- NULL is without end.
    listens_until integer,
    since bigint
);

-- A change has a place in the order of all changes, its position, from the moment a reader has seen it: numbers given
-- while it is written could become visible in another order.
CREATE TABLE backstay.outbox (
    id integer PRIMARY KEY AUTOINCREMENT,
    position bigint,
    at integer NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    queue text NOT NULL,
    job_id text NOT NULL,
    flow_id text,
    from_state text,
    -- NULL for a change of the progress.
    to_state text,
    reason text,
    attempt smallint NOT NULL,
    progress text
);

CREATE UNIQUE INDEX outbox_position ON backstay.outbox (position)
WHERE position IS NOT NULL;

CREATE INDEX outbox_new ON backstay.outbox (id)
WHERE position IS NULL;

-- The last position that was given, and up to which one changes were removed. Locking it is what makes readers give
-- positions one after the other.
CREATE TABLE backstay.outbox_head (
    is_head boolean NOT NULL PRIMARY KEY DEFAULT TRUE,
    last bigint NOT NULL,
    forgotten bigint NOT NULL DEFAULT 0,
    -- Up to which position webhooks were told.
    told bigint NOT NULL DEFAULT 0,
    CONSTRAINT one_head CHECK (is_head)
);

CREATE TRIGGER backstay.tell_of_new_jobs AFTER INSERT ON backstay.jobs
WHEN EXISTS (SELECT 1 FROM backstay.listeners)
BEGIN
    INSERT INTO backstay.outbox (at, tenant, kind, queue, job_id, flow_id, from_state, to_state, reason, attempt)
    SELECT
        NEW.updated_at, NEW.tenant, NEW.kind, NEW.queue, NEW.id,
        (SELECT flow_id FROM backstay.flow_jobs WHERE job_id = NEW.id), NULL, NEW.state, NEW.reason, NEW.attempt
    WHERE EXISTS (
        SELECT 1
        FROM backstay.listeners AS listener
        WHERE listener.topic IN (
            'all', 'tenant:' || NEW.tenant, 'queue:' || NEW.queue, 'kind:' || NEW.kind, 'job:' || NEW.id,
            'flow:' || (SELECT flow_id FROM backstay.flow_jobs WHERE job_id = NEW.id)
        )
          AND (listener.listens_until IS NULL OR listener.listens_until > NEW.updated_at)
    );
END;

CREATE TRIGGER backstay.tell_of_changed_jobs AFTER UPDATE OF state ON backstay.jobs
WHEN OLD.state <> NEW.state AND EXISTS (SELECT 1 FROM backstay.listeners)
BEGIN
    INSERT INTO backstay.outbox (at, tenant, kind, queue, job_id, flow_id, from_state, to_state, reason, attempt)
    SELECT
        NEW.updated_at, NEW.tenant, NEW.kind, NEW.queue, NEW.id,
        (SELECT flow_id FROM backstay.flow_jobs WHERE job_id = NEW.id), OLD.state, NEW.state, NEW.reason, NEW.attempt
    WHERE EXISTS (
        SELECT 1
        FROM backstay.listeners AS listener
        WHERE listener.topic IN (
            'all', 'tenant:' || NEW.tenant, 'queue:' || NEW.queue, 'kind:' || NEW.kind, 'job:' || NEW.id,
            'flow:' || (SELECT flow_id FROM backstay.flow_jobs WHERE job_id = NEW.id)
        )
          AND (listener.listens_until IS NULL OR listener.listens_until > NEW.updated_at)
    );
END;

CREATE TRIGGER backstay.tell_of_first_progress AFTER INSERT ON backstay.progress
WHEN EXISTS (SELECT 1 FROM backstay.listeners)
BEGIN
    INSERT INTO backstay.outbox (at, tenant, kind, queue, job_id, flow_id, attempt, progress)
    SELECT
        NEW.updated_at, job.tenant, job.kind, job.queue, job.id, member.flow_id, job.attempt,
        json_object('current', NEW.current, 'total', NEW.total, 'message', NEW.message)
    FROM backstay.jobs AS job
    LEFT JOIN backstay.flow_jobs AS member ON member.job_id = job.id
    WHERE job.id = NEW.job_id
      AND EXISTS (
        SELECT 1
        FROM backstay.listeners AS listener
        WHERE listener.topic IN (
            'all', 'tenant:' || job.tenant, 'queue:' || job.queue, 'kind:' || job.kind, 'job:' || job.id,
            'flow:' || member.flow_id
        )
          AND (listener.listens_until IS NULL OR listener.listens_until > NEW.updated_at)
    );
END;

CREATE TRIGGER backstay.tell_of_progress AFTER UPDATE ON backstay.progress
WHEN EXISTS (SELECT 1 FROM backstay.listeners)
BEGIN
    INSERT INTO backstay.outbox (at, tenant, kind, queue, job_id, flow_id, attempt, progress)
    SELECT
        NEW.updated_at, job.tenant, job.kind, job.queue, job.id, member.flow_id, job.attempt,
        json_object('current', NEW.current, 'total', NEW.total, 'message', NEW.message)
    FROM backstay.jobs AS job
    LEFT JOIN backstay.flow_jobs AS member ON member.job_id = job.id
    WHERE job.id = NEW.job_id
      AND EXISTS (
        SELECT 1
        FROM backstay.listeners AS listener
        WHERE listener.topic IN (
            'all', 'tenant:' || job.tenant, 'queue:' || job.queue, 'kind:' || job.kind, 'job:' || job.id,
            'flow:' || member.flow_id
        )
          AND (listener.listens_until IS NULL OR listener.listens_until > NEW.updated_at)
    );
END;
-- End of live status

-- Operations: one action on many jobs, carried out by maintenance in steps

CREATE TABLE backstay.operations (
    id text NOT NULL PRIMARY KEY,
    -- "*" stands for all tenants.
    tenant text NOT NULL,
    name text NOT NULL,
    verb text NOT NULL,
    -- Which jobs it is about, fixed when it was started; and where the walk through them has come to.
    target text NOT NULL,
    mark text,
    reason text NOT NULL,
    pace real NOT NULL,
    status text NOT NULL DEFAULT 'running',
    total bigint,
    done bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    problem text,
    started_at integer NOT NULL,
    started_by text NOT NULL,
    stopped_by text,
    ended_at integer,
    next_at integer NOT NULL,
    -- Rises with every time somebody takes it, so that who was slow writes nothing.
    fence integer NOT NULL DEFAULT 0,
    CONSTRAINT known_status CHECK (status IN ('running', 'completed', 'stopped')),
    CONSTRAINT ended_when_over CHECK ((ended_at IS NULL) = (status = 'running'))
);

CREATE INDEX operations_running ON backstay.operations (next_at)
WHERE status = 'running';
-- End of operations

-- Failures: causes of death over time, those that were dealt with as well

CREATE INDEX dead_letters_time ON backstay.dead_letters (died_at, fingerprint)
WHERE fingerprint <> '';

CREATE INDEX dead_letters_history ON backstay.dead_letters (fingerprint, died_at)
WHERE fingerprint <> '';

-- What people have said of a cause. The tenant '' is that of everybody together.
CREATE TABLE backstay.failure_notes (
    tenant text NOT NULL DEFAULT '',
    fingerprint text NOT NULL,
    owner text,
    closed_at integer,
    closed_by text,
    reason text,
    changed_at integer NOT NULL,
    changed_by text NOT NULL,
    PRIMARY KEY (tenant, fingerprint),
    CONSTRAINT closed_by_somebody CHECK ((closed_at IS NULL) = (closed_by IS NULL))
);
-- End of failures
