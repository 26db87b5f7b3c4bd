-- Schedules, their fires, and locks.
-- What a schedule is, its definition, is one document: it is read and written as a whole. Beside it stand the few
-- columns that statements compare. What operators change, overrides and pauses, has columns of its own, which a
-- declaration by code never touches.

CREATE TABLE windlass.schedules (
    id {uuid} NOT NULL PRIMARY KEY,
    tenant {word} NOT NULL DEFAULT '',
    name {word} NOT NULL,
    kind {word} NOT NULL,
    source {word} NOT NULL,
    definition {json} NOT NULL,
    overrides {json},
    declared_by text NOT NULL,
    is_active boolean NOT NULL,
    max_runs integer,
    next_fire_at {timestamp},
    last_fire_at {timestamp},
    run_count integer NOT NULL DEFAULT 0,
    missed_count bigint NOT NULL DEFAULT 0,
    paused_at {timestamp},
    paused_by text,
    pause_reason text,
    tzdata text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at {timestamp} NOT NULL,
    updated_at {timestamp} NOT NULL,
    CONSTRAINT source_is_known CHECK (source IN ('code', 'runtime')),
    CONSTRAINT runs_within_limit CHECK (max_runs IS NULL OR run_count <= max_runs),
    CONSTRAINT pause_has_a_reason CHECK (paused_at IS NULL OR (paused_by IS NOT NULL AND pause_reason IS NOT NULL)),
    CONSTRAINT no_fire_while_paused CHECK (paused_at IS NULL OR NOT is_active)
);

CREATE UNIQUE INDEX schedules_name ON windlass.schedules (tenant, name);

CREATE INDEX schedules_due ON windlass.schedules (next_fire_at, id)
WHERE is_active AND next_fire_at IS NOT NULL;

-- One row a fire, whatever became of it: its primary key is what makes one job of it. The last columns are filled
-- when retention removes the job, so that the history outlives it.
CREATE TABLE windlass.fires (
    schedule_id {uuid} NOT NULL REFERENCES windlass.schedules (id) ON DELETE CASCADE,
    fire_time {timestamp} NOT NULL,
    reference_time {timestamp} NOT NULL,
    trigger_source {word} NOT NULL,
    status {word} NOT NULL,
    is_open boolean NOT NULL,
    job_id {uuid},
    reason text,
    missed integer NOT NULL DEFAULT 0,
    created_at {timestamp} NOT NULL,
    created_by text NOT NULL,
    state {word},
    started_at {timestamp},
    finished_at {timestamp},
    duration_ms bigint,
    attempt smallint,
    worker text,
    result {json},
    error {json},
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

CREATE UNIQUE INDEX fires_job ON windlass.fires (job_id)
WHERE job_id IS NOT NULL;

CREATE INDEX fires_open ON windlass.fires (schedule_id, fire_time)
WHERE is_open;

CREATE INDEX fires_queued ON windlass.fires (schedule_id, fire_time)
WHERE status = 'queued' AND is_open;

CREATE INDEX fires_age ON windlass.fires (created_at);

-- A lock that has run out stays for a while, so that its fence goes on rising.
CREATE TABLE windlass.locks (
    tenant {word} NOT NULL DEFAULT '',
    id {word} NOT NULL,
    holder text NOT NULL,
    job_id {uuid},
    fence bigint NOT NULL,
    locked_at {timestamp} NOT NULL,
    expires_at {timestamp} NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX locks_expiry ON windlass.locks (expires_at);
