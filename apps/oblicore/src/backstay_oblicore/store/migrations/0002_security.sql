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

ALTER TABLE oblicore.documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.documents TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.documents FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.documents FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.documents FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.documents FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.excel_imports ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.excel_imports TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.excel_imports FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.excel_imports FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.excel_imports FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.excel_imports FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.obligations ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.obligations TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.obligations FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.obligations FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.obligations FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.obligations FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.schedules ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.schedules TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.schedules FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.schedules FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.schedules FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.schedules FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.deadlines ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.deadlines TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.deadlines FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.deadlines FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.deadlines FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.deadlines FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.evidence_items ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.evidence_items TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.evidence_items FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.evidence_items FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.evidence_items FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.evidence_items FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.document_sentences ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.document_sentences TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.document_sentences FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.document_sentences FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.document_sentences FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.document_sentences FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.review_queue_items ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.review_queue_items TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.review_queue_items FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.review_queue_items FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.review_queue_items FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.review_queue_items FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.extraction_logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.extraction_logs TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.extraction_logs FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.extraction_logs FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.extraction_logs FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.extraction_logs FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.parameters ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.parameters TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.parameters FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.parameters FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.parameters FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.parameters FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.lab_results ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.lab_results TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.lab_results FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.lab_results FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.lab_results FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.lab_results FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.generators ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.generators TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.generators FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.generators FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.generators FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.generators FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.aer_documents ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.aer_documents TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.aer_documents FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.aer_documents FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.aer_documents FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.aer_documents FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

ALTER TABLE oblicore.obligation_evidence_links ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.obligation_evidence_links TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.obligation_evidence_links FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.obligation_evidence_links FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.obligation_evidence_links FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.obligation_evidence_links FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.run_hour_records ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.run_hour_records TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.run_hour_records FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.run_hour_records FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.run_hour_records FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.run_hour_records FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.stack_tests ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.stack_tests TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.stack_tests FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.stack_tests FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.stack_tests FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.stack_tests FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.fuel_records ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.fuel_records TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.fuel_records FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.fuel_records FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.fuel_records FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.fuel_records FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.incidents ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.incidents TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.incidents FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.incidents FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.incidents FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.incidents FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.pack_distributions ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.pack_distributions TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.pack_distributions FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.pack_distributions FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.pack_distributions FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.pack_distributions FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.cross_sell_triggers ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.cross_sell_triggers TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.cross_sell_triggers FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.cross_sell_triggers FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.cross_sell_triggers FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.cross_sell_triggers FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.module_activations ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.module_activations TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.module_activations FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, NULL));
CREATE POLICY users_add ON oblicore.module_activations FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_change ON oblicore.module_activations FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, NULL)) WITH CHECK (oblicore.may_change(company_id, NULL));
CREATE POLICY users_remove ON oblicore.module_activations FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, NULL));

ALTER TABLE oblicore.audit_packs ENABLE ROW LEVEL SECURITY;
CREATE POLICY service_sees_all ON oblicore.audit_packs TO oblicore_service USING (TRUE) WITH CHECK (TRUE);
CREATE POLICY users_see ON oblicore.audit_packs FOR SELECT TO oblicore_user USING (oblicore.may_see(company_id, site_id));
CREATE POLICY users_add ON oblicore.audit_packs FOR INSERT TO oblicore_user WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_change ON oblicore.audit_packs FOR UPDATE TO oblicore_user USING (oblicore.may_change(company_id, site_id)) WITH CHECK (oblicore.may_change(company_id, site_id));
CREATE POLICY users_remove ON oblicore.audit_packs FOR DELETE TO oblicore_user USING (oblicore.may_change(company_id, site_id));

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

