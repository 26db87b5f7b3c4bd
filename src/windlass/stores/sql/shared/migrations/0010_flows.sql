-- Jobs that wait for other jobs. Everything stands beside the jobs: a job without parents and children pays nothing,
-- and no row of a parent is written when a child is stored.

CREATE TABLE windlass.flows (
    id {uuid} NOT NULL PRIMARY KEY,
    tenant {word} NOT NULL DEFAULT '',
    name text NOT NULL,
    callback_id {uuid},
    created_by text,
    created_at {timestamp} NOT NULL
);

CREATE TABLE windlass.flow_jobs (
    job_id {uuid} NOT NULL PRIMARY KEY REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    flow_id {uuid} NOT NULL REFERENCES windlass.flows (id) ON DELETE CASCADE,
    label text
);

CREATE INDEX flow_jobs_of_flow ON windlass.flow_jobs (flow_id, job_id);

CREATE TABLE windlass.dependencies (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    parent_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    -- Where in the arguments the parent's result belongs, as a JSON pointer; one parent may fill several places.
    place {word} NOT NULL DEFAULT '',
    type {word} NOT NULL,
    condition {json},
    on_failure {word} NOT NULL DEFAULT 'cancel',
    verdict {word},
    decided_at {timestamp},
    PRIMARY KEY (job_id, parent_id, place),
    CONSTRAINT no_dependency_on_itself CHECK (job_id <> parent_id),
    CONSTRAINT known_type CHECK (type IN ('completion', 'success', 'data', 'conditional')),
    CONSTRAINT known_policy CHECK (on_failure IN ('cancel', 'run', 'hold')),
    CONSTRAINT known_verdict CHECK (verdict IS NULL OR verdict IN ('met', 'cancel', 'run', 'hold', 'void')),
    CONSTRAINT verdict_has_time CHECK ((verdict IS NULL) = (decided_at IS NULL)),
    CONSTRAINT data_has_place CHECK ((type = 'data') = (place <> '')),
    CONSTRAINT condition_where_needed CHECK ((type = 'conditional') = (condition IS NOT NULL))
);

CREATE INDEX dependencies_of_parent ON windlass.dependencies (parent_id);

CREATE INDEX dependencies_undecided ON windlass.dependencies (parent_id, job_id)
WHERE verdict IS NULL;
