-- Fair queues, quotas of tenants, pauses that end by themselves and of tenants, and jobs that wait until it is quiet.
-- Both indexes of jobs hold jobs of a tenant alone: who has no tenants pays for neither.

-- Whose turn it is: the tenants of a queue in the order of their names, and the jobs of each in order of turn.
CREATE INDEX jobs_claim_fair ON windlass.jobs (queue, kind, tenant, turn, id)
WHERE state = 'available' AND NOT is_suspect AND tenant <> '';

-- What a tenant has waiting, to count it, and to put it aside and let it go on.
CREATE INDEX jobs_of_tenant ON windlass.jobs (tenant, state, queue, id)
WHERE tenant <> '' AND state IN ('scheduled', 'held', 'available');

ALTER TABLE windlass.pauses ADD COLUMN ends_at {timestamp};

-- A pause that is over stays until everything that it has held goes on again.
CREATE TABLE windlass.tenant_pauses (
    tenant {word} NOT NULL PRIMARY KEY,
    paused_at {timestamp} NOT NULL,
    paused_by text NOT NULL,
    reason text NOT NULL,
    ends_at {timestamp},
    CONSTRAINT tenant_is_named CHECK (tenant <> '')
);

-- How many jobs may wait: of one tenant, or of each (''); in one queue, or in all ('').
CREATE TABLE windlass.quotas (
    tenant {word} NOT NULL DEFAULT '',
    queue {word} NOT NULL DEFAULT '',
    most integer NOT NULL,
    set_at {timestamp} NOT NULL,
    set_by text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (tenant, queue),
    CONSTRAINT quota_is_counted CHECK (most >= 0)
);

-- The job that was stored last under a key whose jobs wait until no more come.
CREATE TABLE windlass.debounces (
    tenant text NOT NULL DEFAULT '',
    key text NOT NULL,
    job_id {uuid} NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX debounces_of_job ON windlass.debounces (job_id);
