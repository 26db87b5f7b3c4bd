-- Limits: how much of each is used, who holds the permits, and which jobs wait for room or for their turn.

ALTER TABLE windlass.jobs ADD COLUMN parked_for {word};
ALTER TABLE windlass.jobs ADD COLUMN order_key {word};
ALTER TABLE windlass.kinds ADD COLUMN ordered_by text;

CREATE INDEX jobs_parked ON windlass.jobs (parked_for, turn, id)
WHERE state = 'held' AND parked_for IS NOT NULL;

CREATE INDEX jobs_order ON windlass.jobs (order_key, created_at, id)
WHERE order_key IS NOT NULL AND state IN ('scheduled', 'held', 'available', 'running');

-- A row for every limit that was asked for. Locking it is what lets claims under the same limit go one by one.
-- `every` is zero where jobs are counted that run; otherwise a token comes so often, and they are spent until then.
CREATE TABLE windlass.limits (
    key {word} NOT NULL PRIMARY KEY,
    most integer NOT NULL,
    every {interval} NOT NULL,
    yields boolean NOT NULL,
    spent_until {timestamp} NOT NULL,
    next_at {timestamp},
    CONSTRAINT limit_is_positive CHECK (most > 0)
);

CREATE INDEX limits_due ON windlass.limits (next_at)
WHERE next_at IS NOT NULL;

-- A permit counts exactly while its job runs under its epoch, whoever ends that and however. Rows are never changed,
-- only added and removed, so one that has served can be removed at any time.
CREATE TABLE windlass.permits (
    limit_key {word} NOT NULL,
    job_id {uuid} NOT NULL,
    lease_epoch integer NOT NULL,
    PRIMARY KEY (limit_key, job_id, lease_epoch)
);

CREATE INDEX permits_of_job ON windlass.permits (job_id);
