-- Who sees what: a user sees the companies where a role is held, staff and viewers only their own sites there.
-- Jobs of users and requests run as oblicore_user with the user's id in request.jwt.claims; schedules as
-- oblicore_service. Neither role can log in by itself; the connection changes to it for one transaction.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'oblicore_service') THEN
        CREATE ROLE oblicore_service NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'oblicore_user') THEN
        CREATE ROLE oblicore_user NOLOGIN;
    END IF;
END
$$;

GRANT oblicore_service, oblicore_user TO CURRENT_USER;
GRANT USAGE ON SCHEMA oblicore TO oblicore_service, oblicore_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA oblicore TO oblicore_service, oblicore_user;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA oblicore TO oblicore_service, oblicore_user;
REVOKE INSERT, UPDATE, DELETE ON
    oblicore.modules, oblicore.extraction_rules, oblicore.user_roles, oblicore.user_site_assignments,
    oblicore.users, oblicore.companies
FROM oblicore_user;
REVOKE ALL ON oblicore.job_facts, oblicore.announced_deaths FROM oblicore_user;
REVOKE UPDATE, DELETE ON oblicore.audit_logs FROM oblicore_user;

CREATE FUNCTION oblicore.current_user_id() RETURNS uuid
LANGUAGE sql STABLE
RETURN nullif(nullif(current_setting('request.jwt.claims', TRUE), '')::jsonb ->> 'sub', '')::uuid;

-- SECURITY DEFINER, because the policies of these tables ask these very questions.
CREATE FUNCTION oblicore.may_see(company uuid, site uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT
        FROM oblicore.user_roles AS held
        WHERE held.user_id = oblicore.current_user_id()
          AND held.company_id = company
          AND (
              held.role IN ('OWNER', 'ADMIN', 'CONSULTANT')
              OR site IS NULL
              OR EXISTS (
                  SELECT
                  FROM oblicore.user_site_assignments AS assigned
                  WHERE assigned.user_id = held.user_id
                    AND assigned.site_id = site
              )
          )
          AND (
              held.role <> 'CONSULTANT'
              OR EXISTS (
                  SELECT
                  FROM oblicore.consultant_client_assignments AS client
                  WHERE client.consultant_id = held.user_id
                    AND client.client_company_id = company
                    AND client.status = 'ACTIVE'
              )
          )
    );
END;

CREATE FUNCTION oblicore.may_change(company uuid, site uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
    SELECT oblicore.may_see(company, site) AND EXISTS (
        SELECT
        FROM oblicore.user_roles AS held
        WHERE held.user_id = oblicore.current_user_id()
          AND held.company_id = company
          AND held.role IN ('OWNER', 'ADMIN', 'STAFF')
    );
END;

-- What belongs to a site is seen and changed by who may see and change the site; what belongs to a company as a
-- whole (its `place` is NULL) by who may do so anywhere in the company.
DO $$
DECLARE
    of_sites CONSTANT text[] := ARRAY[
        'documents', 'excel_imports', 'obligations', 'schedules', 'deadlines', 'evidence_items',
        'document_sentences', 'review_queue_items', 'extraction_logs', 'parameters', 'lab_results',
        'generators', 'aer_documents', 'audit_packs'
    ];
    of_companies CONSTANT text[] := ARRAY[
        'obligation_evidence_links', 'run_hour_records', 'stack_tests', 'fuel_records', 'incidents',
        'pack_distributions', 'cross_sell_triggers', 'module_activations'
    ];
    name text;
    place text;
BEGIN
    FOREACH name IN ARRAY of_sites || of_companies LOOP
        place := CASE WHEN name = ANY (of_sites) THEN 'site_id' ELSE 'NULL' END;
        EXECUTE format(
            $policies$
            ALTER TABLE oblicore.%1$I ENABLE ROW LEVEL SECURITY;
            CREATE POLICY service_sees_all ON oblicore.%1$I TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
            CREATE POLICY users_see ON oblicore.%1$I FOR SELECT TO oblicore_user
            USING (oblicore.may_see(company_id, %2$s));
            CREATE POLICY users_add ON oblicore.%1$I FOR INSERT TO oblicore_user
            WITH CHECK (oblicore.may_change(company_id, %2$s));
            CREATE POLICY users_change ON oblicore.%1$I FOR UPDATE TO oblicore_user
            USING (oblicore.may_change(company_id, %2$s)) WITH CHECK (oblicore.may_change(company_id, %2$s));
            CREATE POLICY users_remove ON oblicore.%1$I FOR DELETE TO oblicore_user
            USING (oblicore.may_change(company_id, %2$s));
            $policies$,
            name,
            place
        );
    END LOOP;
END
$$;

ALTER TABLE oblicore.companies ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.companies TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.companies FOR SELECT TO oblicore_user USING (oblicore.may_see(id, NULL));

ALTER TABLE oblicore.sites ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.sites TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.sites FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, id));
CREATE POLICY users_add ON oblicore.sites FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.sites FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.sites FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.users ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.users TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.users FOR SELECT TO oblicore_user USING (id = oblicore.current_user_id() OR EXISTS (SELECT FROM oblicore.user_roles AS held WHERE held.user_id = users.id));

ALTER TABLE oblicore.user_roles ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.user_roles TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.user_roles FOR SELECT TO oblicore_user USING (user_id = oblicore.current_user_id() OR oblicore.may_see(company_id, NULL));

ALTER TABLE oblicore.user_site_assignments ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.user_site_assignments TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.user_site_assignments FOR SELECT TO oblicore_user USING (EXISTS (SELECT FROM oblicore.sites AS s WHERE s.id = site_id));

ALTER TABLE oblicore.audit_logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.audit_logs TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.audit_logs FOR SELECT TO oblicore_user USING (company_id IS NOT NULL AND oblicore.may_see(company_id, NULL));

CREATE POLICY users_write_audit ON oblicore.audit_logs FOR INSERT TO oblicore_user
WITH CHECK (user_id = oblicore.current_user_id() AND oblicore.may_see(company_id, NULL));

ALTER TABLE oblicore.notifications ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.notifications TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.notifications FOR SELECT TO oblicore_user USING (user_id = oblicore.current_user_id());

CREATE POLICY users_read_theirs ON oblicore.notifications FOR UPDATE TO oblicore_user
USING (user_id = oblicore.current_user_id()) WITH CHECK (user_id = oblicore.current_user_id());

-- A user's job tells people of the same company; reading stays each one's own.
CREATE POLICY users_tell ON oblicore.notifications FOR INSERT TO oblicore_user
WITH CHECK (oblicore.may_see(company_id, NULL));

ALTER TABLE oblicore.consultant_client_assignments ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.consultant_client_assignments TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.consultant_client_assignments FOR SELECT TO oblicore_user USING (consultant_id = oblicore.current_user_id() OR oblicore.may_see(client_company_id, NULL));

ALTER TABLE oblicore.consultant_dashboard_cache ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.consultant_dashboard_cache TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.consultant_dashboard_cache FOR SELECT TO oblicore_user USING (consultant_id = oblicore.current_user_id());

