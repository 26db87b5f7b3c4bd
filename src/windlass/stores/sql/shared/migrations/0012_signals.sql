-- What jobs receive from outside, and what their handlers wait for. Beside the jobs, as steps are: few jobs have any.

-- The place of a signal among those of its name is given under the lock of the job's row and never changes: a handler
-- that runs again must be answered as it was before.
CREATE TABLE windlass.signals (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    name {word} NOT NULL,
    position integer NOT NULL,
    key {word} NOT NULL,
    payload {json},
    sent_by text NOT NULL,
    sent_at {timestamp} NOT NULL,
    PRIMARY KEY (job_id, name, position),
    CONSTRAINT position_is_counted CHECK (position > 0)
);

CREATE UNIQUE INDEX signals_once ON windlass.signals (job_id, name, key);

-- The n-th wait of a handler for a name. One that ran out of time is remembered for the job's whole life; the deadline
-- is that of the first time it was waited for, however often the job runs.
CREATE TABLE windlass.waits (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    name {word} NOT NULL,
    number integer NOT NULL,
    position integer NOT NULL,
    is_open boolean NOT NULL,
    waiting_since {timestamp} NOT NULL,
    times_out_at {timestamp},
    timed_out_at {timestamp},
    PRIMARY KEY (job_id, name, number),
    CONSTRAINT timed_out_is_closed CHECK (timed_out_at IS NULL OR NOT is_open)
);

CREATE INDEX waits_due ON windlass.waits (times_out_at, job_id)
WHERE is_open AND times_out_at IS NOT NULL;
