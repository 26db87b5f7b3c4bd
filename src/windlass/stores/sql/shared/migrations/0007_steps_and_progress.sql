-- What handlers remember and tell while they run. Both live beside the jobs: a job's row is wide, its indexes are
-- partial on its state, and a new version of it for every word of a handler would be paid by claims and settlements.

CREATE TABLE windlass.steps (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    name {word} NOT NULL,
    position integer NOT NULL,
    lease_epoch integer NOT NULL,
    attempt smallint NOT NULL,
    run integer NOT NULL,
    worker text,
    result {json},
    duration_ms bigint NOT NULL,
    finished_at {timestamp} NOT NULL,
    PRIMARY KEY (job_id, name)
);

CREATE TABLE windlass.progress (
    job_id {uuid} NOT NULL PRIMARY KEY REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    current double precision NOT NULL,
    total double precision,
    message text,
    updated_at {timestamp} NOT NULL,
    CONSTRAINT progress_is_counted CHECK (current >= 0 AND (total IS NULL OR total > 0))
);

-- Where it was meant to be before it was measured.
ALTER TABLE windlass.jobs DROP COLUMN progress;
