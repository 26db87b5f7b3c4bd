-- What every change of a job pays for, made lighter; nothing that was refused before is let in now.

-- A foreign key is looked at by every change of the row that it points to, ten of them by ten triggers. Nobody changes
-- the id of a job, so the same is kept by triggers that are asked only when a job goes or when something is added to it.
CREATE FUNCTION windlass.hold_job(job uuid, beside name)
RETURNS void
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Whoever removes the job waits for this transaction, and finds what it has added.
    PERFORM 1
    FROM windlass.jobs
    WHERE id = job
    FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE foreign_key_violation USING MESSAGE = format('there is no job %s for a row of %I', job, beside);
    END IF;
END
$$;

CREATE FUNCTION windlass.needs_job()
RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM windlass.hold_job(NEW.job_id, TG_TABLE_NAME);
    RETURN NULL;
END
$$;

CREATE FUNCTION windlass.needs_parent()
RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM windlass.hold_job(NEW.parent_id, TG_TABLE_NAME);
    RETURN NULL;
END
$$;

-- A few jobs among millions: by the index of each table, whatever is believed of its size.
CREATE FUNCTION windlass.go_with_jobs()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
BEGIN
    DELETE FROM windlass.attempts USING removed WHERE attempts.job_id = removed.id;
    DELETE FROM windlass.dead_letters USING removed WHERE dead_letters.job_id = removed.id;
    DELETE FROM windlass.dependencies USING removed WHERE dependencies.job_id = removed.id;
    DELETE FROM windlass.dependencies USING removed WHERE dependencies.parent_id = removed.id;
    DELETE FROM windlass.flow_jobs USING removed WHERE flow_jobs.job_id = removed.id;
    DELETE FROM windlass.measures USING removed WHERE measures.job_id = removed.id;
    DELETE FROM windlass.progress USING removed WHERE progress.job_id = removed.id;
    DELETE FROM windlass.signals USING removed WHERE signals.job_id = removed.id;
    DELETE FROM windlass.steps USING removed WHERE steps.job_id = removed.id;
    DELETE FROM windlass.waits USING removed WHERE waits.job_id = removed.id;
    RETURN NULL;
END
$$;

CREATE FUNCTION windlass.go_with_all_jobs()
RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Not TRUNCATE, which is refused for a table that the same command names.
    DELETE FROM windlass.attempts;
    DELETE FROM windlass.dead_letters;
    DELETE FROM windlass.dependencies;
    DELETE FROM windlass.flow_jobs;
    DELETE FROM windlass.measures;
    DELETE FROM windlass.progress;
    DELETE FROM windlass.signals;
    DELETE FROM windlass.steps;
    DELETE FROM windlass.waits;
    RETURN NULL;
END
$$;

CREATE FUNCTION windlass.ids_stay()
RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    RAISE restrict_violation USING MESSAGE = 'the id of a job stays as it is: other tables name it';
END
$$;

ALTER TABLE windlass.attempts DROP CONSTRAINT attempts_job_id_fkey;
ALTER TABLE windlass.dead_letters DROP CONSTRAINT dead_letters_job_id_fkey;
ALTER TABLE windlass.dependencies DROP CONSTRAINT dependencies_job_id_fkey;
ALTER TABLE windlass.dependencies DROP CONSTRAINT dependencies_parent_id_fkey;
ALTER TABLE windlass.flow_jobs DROP CONSTRAINT flow_jobs_job_id_fkey;
ALTER TABLE windlass.measures DROP CONSTRAINT measures_job_id_fkey;
ALTER TABLE windlass.progress DROP CONSTRAINT progress_job_id_fkey;
ALTER TABLE windlass.signals DROP CONSTRAINT signals_job_id_fkey;
ALTER TABLE windlass.steps DROP CONSTRAINT steps_job_id_fkey;
ALTER TABLE windlass.waits DROP CONSTRAINT waits_job_id_fkey;

CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.attempts
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.dead_letters
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.dependencies
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_parent AFTER INSERT OR UPDATE OF parent_id ON windlass.dependencies
FOR EACH ROW EXECUTE FUNCTION windlass.needs_parent();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.flow_jobs
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.measures
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.progress
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.signals
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.steps
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();
CREATE TRIGGER needs_job AFTER INSERT OR UPDATE OF job_id ON windlass.waits
FOR EACH ROW EXECUTE FUNCTION windlass.needs_job();

CREATE TRIGGER go_with_jobs AFTER DELETE ON windlass.jobs
REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION windlass.go_with_jobs();

CREATE TRIGGER go_with_all_jobs AFTER TRUNCATE ON windlass.jobs
FOR EACH STATEMENT EXECUTE FUNCTION windlass.go_with_all_jobs();

-- For each statement, because one for each row would be looked at by every change again.
CREATE TRIGGER ids_stay BEFORE UPDATE OF id ON windlass.jobs
FOR EACH STATEMENT EXECUTE FUNCTION windlass.ids_stay();

-- The rules of a row once more as an expression: a function reckons three times as long for every row, an expression
-- has to be read for every statement. This one is as short as it can be, and most rows come many to a statement.
ALTER TABLE windlass.jobs DROP CONSTRAINT fields_fit_state;

ALTER TABLE windlass.jobs ADD CONSTRAINT fields_fit_state CHECK (
    CASE lease_epoch % 2
        WHEN 1 THEN
            state = 'running' AND lease_expires_at IS NOT NULL AND num_nonnulls(finished_at, result) = 0
        WHEN 0 THEN
            num_nonnulls(lease_expires_at, heartbeat_at) = 0
            AND CASE
                WHEN finished_at IS NULL THEN
                    result IS NULL
                    AND (state IN ('available', 'scheduled') OR state = 'held' AND reason IS NOT NULL)
                ELSE
                    state = 'completed'
                    OR state IN ('dead', 'cancelled', 'resolved') AND reason IS NOT NULL AND result IS NULL
            END
        ELSE FALSE
    END
    AND priority BETWEEN 1 AND 10
    AND attempt BETWEEN 0 AND max_attempts
) NOT VALID;

ALTER TABLE windlass.jobs VALIDATE CONSTRAINT fields_fit_state;

DROP FUNCTION windlass.row_is_sound;

-- Every index is opened by every statement, and looked at by every change: where two can be one, they are.
DROP INDEX windlass.jobs_claim;

DROP INDEX windlass.jobs_claim_suspect;

CREATE INDEX jobs_claim ON windlass.jobs (queue, kind, is_suspect, turn, id)
WHERE state = 'available';

-- A worker's jobs are few, and its index is the one that every claim adds to: by name alone it is half as large.
DROP INDEX windlass.jobs_running;

CREATE INDEX jobs_running ON windlass.jobs (worker)
WHERE state = 'running';
