"""The third journal: a trigger that notes every change of every job, in the transaction of the change."""

from __future__ import annotations

# A sequence number is taken while the job's row is locked, so that the events of one job are in order.
HISTORY = """
CREATE SCHEMA chaos;

CREATE TABLE chaos.events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    database_started timestamptz NOT NULL DEFAULT pg_postmaster_start_time(),
    job_id uuid NOT NULL,
    from_state text,
    to_state text NOT NULL,
    from_epoch integer,
    to_epoch integer NOT NULL,
    settled_epoch integer,
    is_rescuers boolean NOT NULL,
    run integer NOT NULL,
    attempt integer NOT NULL,
    worker text,
    worker_state text,
    lease interval,
    lease_expires_at timestamptz,
    run_at timestamptz NOT NULL
);

CREATE TABLE chaos.effects (
    job_id uuid NOT NULL,
    run integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION chaos.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.state, OLD.lease_epoch, OLD.claim_id) IS NOT DISTINCT FROM
        (NEW.state, NEW.lease_epoch, NEW.claim_id)
    THEN
        RETURN NULL;
    END IF;
    INSERT INTO chaos.events (
        job_id, from_state, to_state, from_epoch, to_epoch, settled_epoch, is_rescuers, run, attempt, worker,
        worker_state, lease, lease_expires_at, run_at
    )
    VALUES (
        NEW.id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state,
        CASE WHEN TG_OP = 'UPDATE' THEN OLD.lease_epoch END, NEW.lease_epoch, NEW.settled_epoch,
        NEW.state = 'running' AND NEW.claim_id IS NULL, NEW.run, NEW.attempt, NEW.worker,
        (SELECT state FROM backstay.workers WHERE id = COALESCE(NEW.worker, OLD.worker)), NEW.lease,
        NEW.lease_expires_at, NEW.run_at
    );
    RETURN NULL;
END
$$;

CREATE TRIGGER note_for_chaos
AFTER INSERT OR UPDATE ON backstay.jobs
FOR EACH ROW EXECUTE FUNCTION chaos.note();
"""
