-- Every line of the audit log holds the hash of the line before it: what was altered or taken out is found.
ALTER TABLE exora.audit_log ADD COLUMN place bigint;
ALTER TABLE exora.audit_log ADD COLUMN previous_hash text;
ALTER TABLE exora.audit_log ADD COLUMN hash text;

-- Where each practice's chain ends, and where it begins now that its oldest lines are gone.
CREATE TABLE exora.audit_heads (
    practice_id text PRIMARY KEY,
    last_place bigint NOT NULL DEFAULT 0,
    last_hash text NOT NULL DEFAULT '',
    first_hash text NOT NULL DEFAULT ''
);
ALTER TABLE exora.audit_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE exora.audit_heads FORCE ROW LEVEL SECURITY;
CREATE POLICY the_service ON exora.audit_heads
FOR ALL TO service_role, CURRENT_USER USING (TRUE) WITH CHECK (TRUE);

-- The separator cannot stand in a name; a missing reason and an empty one are two things.
CREATE FUNCTION exora.audit_hash(line exora.audit_log) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(concat_ws(
        chr(31), line.previous_hash, line.place, extract(EPOCH FROM line.at), line.practice_id, line.actor, line.action,
        line.subject, COALESCE('=' || line.reason, '-'), line.details
    ), 'UTF8')), 'hex')
$$;

-- The row of the head is locked until the end of the transaction, so that two lines never follow the same one.
CREATE FUNCTION exora.chain_audit_line() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    INSERT INTO exora.audit_heads (practice_id) VALUES (NEW.practice_id) ON CONFLICT DO NOTHING;
    SELECT last_place + 1, last_hash INTO NEW.place, NEW.previous_hash
    FROM exora.audit_heads WHERE practice_id = NEW.practice_id FOR UPDATE;
    NEW.hash := exora.audit_hash(NEW);
    UPDATE exora.audit_heads SET last_place = NEW.place, last_hash = NEW.hash WHERE practice_id = NEW.practice_id;
    RETURN NEW;
END
$$;

-- Lines that are there already become the beginning of their chains.
DO $$
DECLARE
    line exora.audit_log;
BEGIN
    FOR line IN SELECT * FROM exora.audit_log ORDER BY practice_id, id LOOP
        INSERT INTO exora.audit_heads (practice_id) VALUES (line.practice_id) ON CONFLICT DO NOTHING;
        SELECT last_place + 1, last_hash INTO line.place, line.previous_hash
        FROM exora.audit_heads WHERE practice_id = line.practice_id;
        line.hash := exora.audit_hash(line);
        UPDATE exora.audit_log SET place = line.place, previous_hash = line.previous_hash, hash = line.hash
        WHERE id = line.id;
        UPDATE exora.audit_heads SET last_place = line.place, last_hash = line.hash
        WHERE practice_id = line.practice_id;
    END LOOP;
END
$$;

ALTER TABLE exora.audit_log ALTER COLUMN place SET NOT NULL;
ALTER TABLE exora.audit_log ALTER COLUMN previous_hash SET NOT NULL;
ALTER TABLE exora.audit_log ALTER COLUMN hash SET NOT NULL;
ALTER TABLE exora.audit_log ADD CONSTRAINT audit_log_in_order UNIQUE (practice_id, place);
CREATE TRIGGER chain_audit_line BEFORE INSERT ON exora.audit_log
FOR EACH ROW EXECUTE FUNCTION exora.chain_audit_line();

-- Where a chain does not hold: a line that was altered, or whose neighbour is gone.
CREATE FUNCTION exora.audit_breaks() RETURNS TABLE (practice_id text, place bigint, what text)
LANGUAGE sql STABLE AS $$
    SELECT line.practice_id, line.place, 'altered'
    FROM exora.audit_log AS line WHERE line.hash IS DISTINCT FROM exora.audit_hash(line)
    UNION ALL
    SELECT line.practice_id, line.place, 'something is missing before it' FROM (
        SELECT l.practice_id, l.place, l.previous_hash, lag(l.hash, 1, h.first_hash) OVER (
            PARTITION BY l.practice_id ORDER BY l.place
        ) AS expected
        FROM exora.audit_log AS l LEFT JOIN exora.audit_heads AS h ON h.practice_id = l.practice_id
    ) AS line WHERE line.previous_hash IS DISTINCT FROM line.expected
    UNION ALL
    SELECT h.practice_id, h.last_place, 'the last line is missing'
    FROM exora.audit_heads AS h
    WHERE h.last_hash <> h.first_hash AND NOT EXISTS (
        SELECT FROM exora.audit_log AS l
        WHERE l.practice_id = h.practice_id AND l.place = h.last_place AND l.hash = h.last_hash
    )
$$;

-- Removes the oldest lines of every chain, and notes where the chains begin from now on.
CREATE FUNCTION exora.forget_audit_lines(older_than interval) RETURNS bigint
LANGUAGE sql AS $$
    WITH young AS (
        SELECT h.practice_id, COALESCE(min(l.place), h.last_place + 1) AS first_place
        FROM exora.audit_heads AS h
        LEFT JOIN exora.audit_log AS l ON l.practice_id = h.practice_id AND l.at >= now() - older_than
        GROUP BY h.practice_id, h.last_place
    ), gone AS (
        DELETE FROM exora.audit_log AS l USING young
        WHERE l.practice_id = young.practice_id AND l.place < young.first_place
        RETURNING l.practice_id, l.place, l.hash
    ), noted AS (
        UPDATE exora.audit_heads AS h SET first_hash = last.hash
        FROM (SELECT DISTINCT ON (practice_id) practice_id, hash FROM gone ORDER BY practice_id, place DESC) AS last
        WHERE h.practice_id = last.practice_id
    )
    SELECT count(*) FROM gone
$$;
REVOKE ALL ON FUNCTION exora.forget_audit_lines(interval), exora.audit_breaks() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION exora.forget_audit_lines(interval), exora.audit_breaks() TO service_role;
