-- The rules of a job's row, behind one function. PostgreSQL reads the text of a rule anew for every statement, and the
-- rules written out took longer to read than one job takes to store; a function is read once for a session.

CREATE FUNCTION windlass.row_is_sound(
    state text, epoch integer, is_leased boolean, has_heartbeat boolean, has_ended boolean, has_result boolean,
    has_reason boolean, priority smallint, attempt smallint, max_attempts smallint
)
RETURNS boolean
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    -- In the order in which jobs pass through them: the first that fits is the last that is looked at.
    RETURN priority BETWEEN 1 AND 10
        AND attempt >= 0
        AND (max_attempts IS NULL OR attempt <= max_attempts)
        AND CASE state
            WHEN 'available' THEN NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat OR has_ended OR has_result)
            WHEN 'running' THEN epoch % 2 = 1 AND is_leased AND NOT (has_ended OR has_result)
            WHEN 'completed' THEN has_ended AND NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat)
            WHEN 'scheduled' THEN NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat OR has_ended OR has_result)
            WHEN 'held' THEN
                has_reason AND NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat OR has_ended OR has_result)
            WHEN 'dead' THEN
                has_ended AND has_reason AND NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat OR has_result)
            WHEN 'resolved' THEN
                has_ended AND has_reason AND NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat OR has_result)
            WHEN 'cancelled' THEN
                has_ended AND has_reason AND NOT (epoch % 2 = 1 OR is_leased OR has_heartbeat OR has_result)
            ELSE FALSE
        END;
END
$$;

ALTER TABLE windlass.jobs DROP CONSTRAINT priority_in_range;

ALTER TABLE windlass.jobs DROP CONSTRAINT attempt_within_limit;

ALTER TABLE windlass.jobs DROP CONSTRAINT fields_fit_state;

ALTER TABLE windlass.jobs ADD CONSTRAINT fields_fit_state CHECK (
    windlass.row_is_sound(
        state, lease_epoch, lease_expires_at IS NOT NULL, heartbeat_at IS NOT NULL, finished_at IS NOT NULL,
        result IS NOT NULL, reason IS NOT NULL, priority, attempt, max_attempts
    )
) NOT VALID;

ALTER TABLE windlass.jobs VALIDATE CONSTRAINT fields_fit_state;
