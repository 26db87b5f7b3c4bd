-- Who may see which rows: the service everything, a practice's own people its documents, strangers nothing.

DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['service_role', 'authenticated', 'anon'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        EXCEPTION
            -- Roles belong to the whole server: another database, or another migration just now, has made it.
            WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END LOOP;
END
$$;

-- Every table, so that a grant given by mistake opens nothing; the owner is held to it, too.
DO $$
DECLARE
    each record;
BEGIN
    FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'exora' LOOP
        EXECUTE format('ALTER TABLE exora.%I ENABLE ROW LEVEL SECURITY', each.tablename);
        EXECUTE format('ALTER TABLE exora.%I FORCE ROW LEVEL SECURITY', each.tablename);
        EXECUTE format(
            'CREATE POLICY the_service ON exora.%I FOR ALL TO service_role, CURRENT_USER USING (TRUE) WITH CHECK (TRUE)',
            each.tablename
        );
    END LOOP;
END
$$;

-- The practice of whoever asks, set for a transaction by the service in front: SET LOCAL exora.practice = '…'.
CREATE FUNCTION exora.current_practice() RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT NULLIF(current_setting('exora.practice', TRUE), '')
$$;

CREATE POLICY own_practice ON exora.shell_files
FOR SELECT TO authenticated USING (practice_id = exora.current_practice());
