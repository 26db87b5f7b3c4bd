-- The rules of a job's row, behind one function. PostgreSQL reads the text of a rule anew for every statement, and the
-- rules written out took longer to read than one job takes to store; a function is read once for a session.
-- What a function evaluates is made ready anew in every transaction, but only what is come across: so every state has
-- a branch of its own, in the order in which jobs pass through them.

CREATE FUNCTION windlass.row_is_sound(
    state text, epoch integer, leased_until timestamptz, heartbeat timestamptz, ended timestamptz, result json,
    reason text, priority smallint, attempt smallint, max_attempts smallint
)
RETURNS boolean
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF priority NOT BETWEEN 1 AND 10 OR attempt < 0 OR attempt > max_attempts THEN
        RETURN FALSE;
    END IF;
    IF state = 'available' THEN
        RETURN epoch % 2 = 0 AND num_nonnulls(leased_until, heartbeat, ended, result) = 0;
    ELSIF state = 'running' THEN
        RETURN epoch % 2 = 1 AND leased_until IS NOT NULL AND num_nonnulls(ended, result) = 0;
    ELSIF state = 'completed' THEN
        RETURN epoch % 2 = 0 AND ended IS NOT NULL AND num_nonnulls(leased_until, heartbeat) = 0;
    ELSIF state = 'scheduled' THEN
        RETURN epoch % 2 = 0 AND num_nonnulls(leased_until, heartbeat, ended, result) = 0;
    ELSIF state = 'held' THEN
        RETURN epoch % 2 = 0 AND reason IS NOT NULL AND num_nonnulls(leased_until, heartbeat, ended, result) = 0;
    ELSIF state IN ('dead', 'resolved', 'cancelled') THEN
        RETURN epoch % 2 = 0 AND num_nonnulls(ended, reason) = 2
            AND num_nonnulls(leased_until, heartbeat, result) = 0;
    END IF;
    RETURN FALSE;
END
$$;

ALTER TABLE windlass.jobs DROP CONSTRAINT priority_in_range;

ALTER TABLE windlass.jobs DROP CONSTRAINT attempt_within_limit;

ALTER TABLE windlass.jobs DROP CONSTRAINT fields_fit_state;

ALTER TABLE windlass.jobs ADD CONSTRAINT fields_fit_state CHECK (
    windlass.row_is_sound(
        state, lease_epoch, lease_expires_at, heartbeat_at, finished_at, result, reason, priority, attempt,
        max_attempts
    )
) NOT VALID;

ALTER TABLE windlass.jobs VALIDATE CONSTRAINT fields_fit_state;
