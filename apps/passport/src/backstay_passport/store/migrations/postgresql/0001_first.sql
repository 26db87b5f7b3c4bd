CREATE SCHEMA IF NOT EXISTS passport;

CREATE TABLE passport.tenants (
    id text NOT NULL,
    name text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);

CREATE TABLE passport.users (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);

CREATE TABLE passport.api_keys (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,
    digest text NOT NULL,
    role text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (prefix)
);

CREATE TABLE passport.files (
    id text NOT NULL,
    tenant_id text NOT NULL,
    content bytea NOT NULL,
    mime_type text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE passport.documents (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    kind text,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE passport.document_versions (
    id text NOT NULL,
    tenant_id text NOT NULL,
    document_id text NOT NULL,
    kind text NOT NULL,
    content bytea NOT NULL,
    content_hash bytea NOT NULL,
    mime_type text NOT NULL,
    format text NOT NULL,
    status text NOT NULL,
    error text,
    job_id text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (document_id) REFERENCES passport.documents (id)
);

CREATE INDEX document_versions_by_document ON passport.document_versions (tenant_id, document_id);

CREATE TABLE passport.facts (
    id text NOT NULL,
    tenant_id text NOT NULL,
    fact_type text NOT NULL,
    fact_key text NOT NULL,
    schema_version integer NOT NULL,
    source_doc_version_id text NOT NULL,
    payload_canonical bytea NOT NULL,
    payload_hash bytea NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, source_doc_version_id, fact_type, fact_key),
    FOREIGN KEY (source_doc_version_id) REFERENCES passport.document_versions (id)
);

CREATE INDEX facts_by_key ON passport.facts (tenant_id, fact_type, fact_key);

CREATE TABLE passport.data_snapshots (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    snapshot_hash bytea,
    sealed_at text,
    built_by_job text,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE passport.snapshot_items (
    snapshot_id text NOT NULL,
    fact_id text NOT NULL,
    PRIMARY KEY (snapshot_id, fact_id),
    FOREIGN KEY (snapshot_id) REFERENCES passport.data_snapshots (id),
    FOREIGN KEY (fact_id) REFERENCES passport.facts (id)
);

CREATE TABLE passport.snapshot_secrets (
    snapshot_id text NOT NULL,
    secret bytea NOT NULL,
    PRIMARY KEY (snapshot_id),
    FOREIGN KEY (snapshot_id) REFERENCES passport.data_snapshots (id)
);

CREATE TABLE passport.rule_packages (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE passport.rule_package_versions (
    id text NOT NULL,
    tenant_id text NOT NULL,
    package_id text NOT NULL,
    version integer NOT NULL,
    status text NOT NULL,
    rules_source text NOT NULL,
    tests_source text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (package_id, version),
    FOREIGN KEY (package_id) REFERENCES passport.rule_packages (id)
);

CREATE TABLE passport.rule_tests_runs (
    id text NOT NULL,
    tenant_id text NOT NULL,
    rule_package_version_id text NOT NULL,
    seed bigint NOT NULL,
    total_cases integer NOT NULL,
    passed_count integer NOT NULL,
    failed_count integer NOT NULL,
    status text NOT NULL,
    first_failure text,
    job_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (rule_package_version_id) REFERENCES passport.rule_package_versions (id)
);

CREATE TABLE passport.battery_products (
    id text NOT NULL,
    tenant_id text NOT NULL,
    sku text NOT NULL,
    gtin text,
    name text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, sku)
);

CREATE TABLE passport.battery_units (
    id text NOT NULL,
    tenant_id text NOT NULL,
    product_id text NOT NULL,
    serial text NOT NULL,
    gtin text NOT NULL,
    status text NOT NULL,
    data text NOT NULL,
    predecessor_id text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, product_id, serial),
    UNIQUE (gtin, serial),
    FOREIGN KEY (product_id) REFERENCES passport.battery_products (id)
);

CREATE INDEX battery_units_by_product ON passport.battery_units (tenant_id, product_id);

CREATE TABLE passport.passports (
    id text NOT NULL,
    tenant_id text NOT NULL,
    battery_product_id text NOT NULL,
    battery_unit_id text,
    active_version_id text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (battery_product_id, battery_unit_id),
    FOREIGN KEY (battery_product_id) REFERENCES passport.battery_products (id),
    FOREIGN KEY (battery_unit_id) REFERENCES passport.battery_units (id)
);

CREATE INDEX passports_by_unit ON passport.passports (battery_unit_id);

CREATE TABLE passport.passport_versions (
    id text NOT NULL,
    tenant_id text NOT NULL,
    passport_id text NOT NULL,
    snapshot_id text NOT NULL,
    rule_package_version_id text NOT NULL,
    subject_canonical bytea NOT NULL,
    payload_canonical bytea NOT NULL,
    payload_hash bytea NOT NULL,
    proof_canonical bytea NOT NULL,
    proof_root_hash bytea NOT NULL,
    receipt_canonical bytea NOT NULL,
    receipt_hash bytea NOT NULL,
    compiler_build_id text NOT NULL,
    issued_at text NOT NULL,
    status text NOT NULL,
    signature bytea,
    signing_key_id text,
    signing_key_public bytea,
    qr_payload text,
    qr_png bytea,
    job_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (passport_id) REFERENCES passport.passports (id),
    FOREIGN KEY (snapshot_id) REFERENCES passport.data_snapshots (id),
    FOREIGN KEY (rule_package_version_id) REFERENCES passport.rule_package_versions (id)
);

CREATE INDEX passport_versions_by_passport ON passport.passport_versions (tenant_id, passport_id);

CREATE TABLE passport.passport_exports (
    id text NOT NULL,
    tenant_id text NOT NULL,
    passport_version_id text NOT NULL,
    format text NOT NULL,
    is_public boolean NOT NULL,
    content bytea NOT NULL,
    content_hash bytea NOT NULL,
    destination text,
    job_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (passport_version_id) REFERENCES passport.passport_versions (id)
);

CREATE INDEX passport_exports_by_version ON passport.passport_exports (tenant_id, passport_version_id);

CREATE TABLE passport.events (
    event_id text NOT NULL,
    tenant_id text NOT NULL,
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    aggregate_version integer NOT NULL,
    event_type text NOT NULL,
    occurred_at text NOT NULL,
    actor_id text,
    payload_canonical bytea NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (event_id),
    UNIQUE (tenant_id, aggregate_type, aggregate_id, aggregate_version)
);

CREATE TABLE passport.tree_heads (
    id text NOT NULL,
    tenant_id text NOT NULL,
    root bytea NOT NULL,
    ends bytea NOT NULL,
    signature bytea NOT NULL,
    key_id text NOT NULL,
    public_key bytea NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE passport.webhook_endpoints (
    id text NOT NULL,
    tenant_id text NOT NULL,
    url text NOT NULL,
    secret bytea NOT NULL,
    active boolean,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE passport.webhook_subscriptions (
    endpoint_id text NOT NULL,
    event_type text NOT NULL,
    PRIMARY KEY (endpoint_id, event_type),
    FOREIGN KEY (endpoint_id) REFERENCES passport.webhook_endpoints (id)
);

CREATE TABLE passport.webhook_deliveries (
    id text NOT NULL,
    tenant_id text NOT NULL,
    endpoint_id text NOT NULL,
    event_id text NOT NULL,
    event_type text NOT NULL,
    body bytea NOT NULL,
    status text NOT NULL,
    attempts integer NOT NULL,
    http_status integer,
    response_headers text,
    response_body bytea,
    error text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (endpoint_id, event_id),
    FOREIGN KEY (endpoint_id) REFERENCES passport.webhook_endpoints (id),
    FOREIGN KEY (event_id) REFERENCES passport.events (event_id)
);

CREATE INDEX webhook_deliveries_by_tenant ON passport.webhook_deliveries (tenant_id, created_at);

CREATE TABLE passport.access_tokens (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    audience text NOT NULL,
    digest bytea NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);

CREATE TABLE passport.access_log (
    id text NOT NULL,
    tenant_id text NOT NULL,
    token_id text NOT NULL,
    passport_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE passport.signing_keys (
    key_id text NOT NULL,
    public_key bytea NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (key_id)
);

CREATE FUNCTION passport.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING MESSAGE = TG_ARGV[0], ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER versions_canonical BEFORE UPDATE ON passport.passport_versions
    FOR EACH ROW
    WHEN (NEW.id IS DISTINCT FROM OLD.id OR NEW.tenant_id IS DISTINCT FROM OLD.tenant_id OR NEW.passport_id IS DISTINCT FROM OLD.passport_id OR NEW.snapshot_id IS DISTINCT FROM OLD.snapshot_id OR NEW.rule_package_version_id IS DISTINCT FROM OLD.rule_package_version_id OR NEW.subject_canonical IS DISTINCT FROM OLD.subject_canonical OR NEW.payload_canonical IS DISTINCT FROM OLD.payload_canonical OR NEW.payload_hash IS DISTINCT FROM OLD.payload_hash OR NEW.proof_canonical IS DISTINCT FROM OLD.proof_canonical OR NEW.proof_root_hash IS DISTINCT FROM OLD.proof_root_hash OR NEW.receipt_canonical IS DISTINCT FROM OLD.receipt_canonical OR NEW.receipt_hash IS DISTINCT FROM OLD.receipt_hash OR NEW.compiler_build_id IS DISTINCT FROM OLD.compiler_build_id OR NEW.issued_at IS DISTINCT FROM OLD.issued_at OR NEW.job_id IS DISTINCT FROM OLD.job_id OR NEW.created_at IS DISTINCT FROM OLD.created_at)
    EXECUTE FUNCTION passport.refuse('the bytes of a passport version never change');

CREATE TRIGGER versions_once BEFORE UPDATE ON passport.passport_versions
    FOR EACH ROW
    WHEN ((OLD.signature IS NOT NULL AND NEW.signature IS DISTINCT FROM OLD.signature) OR (OLD.signing_key_id IS NOT NULL AND NEW.signing_key_id IS DISTINCT FROM OLD.signing_key_id) OR (OLD.signing_key_public IS NOT NULL AND NEW.signing_key_public IS DISTINCT FROM OLD.signing_key_public) OR (OLD.qr_payload IS NOT NULL AND NEW.qr_payload IS DISTINCT FROM OLD.qr_payload) OR (OLD.qr_png IS NOT NULL AND NEW.qr_png IS DISTINCT FROM OLD.qr_png))
    EXECUTE FUNCTION passport.refuse('signature and code of a passport version are written once');

CREATE TRIGGER versions_status BEFORE UPDATE ON passport.passport_versions
    FOR EACH ROW
    WHEN (NOT (NEW.status = OLD.status OR (OLD.status = 'COMPILING' AND NEW.status = 'SIGNED') OR (OLD.status = 'SIGNED' AND NEW.status = 'ACTIVE') OR (OLD.status = 'SIGNED' AND NEW.status = 'REVOKED') OR (OLD.status = 'ACTIVE' AND NEW.status = 'SUPERSEDED') OR (OLD.status = 'ACTIVE' AND NEW.status = 'REVOKED') OR (OLD.status = 'SUPERSEDED' AND NEW.status = 'REVOKED')))
    EXECUTE FUNCTION passport.refuse('no such change of a passport version''s status');

CREATE TRIGGER versions_kept BEFORE DELETE ON passport.passport_versions
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('passport versions are never deleted');

CREATE TRIGGER facts_fixed BEFORE UPDATE ON passport.facts
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('facts never change');

CREATE TRIGGER facts_kept BEFORE DELETE ON passport.facts
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('facts are never deleted');

CREATE TRIGGER events_fixed BEFORE UPDATE ON passport.events
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('events are only appended');

CREATE TRIGGER events_kept BEFORE DELETE ON passport.events
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('events are only appended');

CREATE TRIGGER heads_fixed BEFORE UPDATE ON passport.tree_heads
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('tree heads are only appended');

CREATE TRIGGER heads_kept BEFORE DELETE ON passport.tree_heads
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('tree heads are only appended');

CREATE FUNCTION passport.items_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Locked, so that nobody seals the snapshot in between.
    PERFORM 1 FROM passport.data_snapshots WHERE id = NEW.snapshot_id AND status = 'BUILDING' FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'facts are added to a snapshot that is BUILDING only' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER items_added BEFORE INSERT ON passport.snapshot_items
    FOR EACH ROW EXECUTE FUNCTION passport.items_added();

CREATE TRIGGER items_fixed BEFORE UPDATE ON passport.snapshot_items
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('the facts of a snapshot are not exchanged');

CREATE FUNCTION passport.items_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Locked, so that nobody seals the snapshot in between.
    PERFORM 1 FROM passport.data_snapshots WHERE id = OLD.snapshot_id AND status = 'BUILDING' FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'facts are taken from a snapshot that is BUILDING only' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER items_kept BEFORE DELETE ON passport.snapshot_items
    FOR EACH ROW EXECUTE FUNCTION passport.items_kept();

CREATE TRIGGER secrets_fixed BEFORE UPDATE ON passport.snapshot_secrets
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('the secret of a snapshot never changes');

CREATE TRIGGER secrets_kept BEFORE DELETE ON passport.snapshot_secrets
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('the secret of a snapshot never changes');

CREATE TRIGGER snapshots_sealed BEFORE UPDATE ON passport.data_snapshots
    FOR EACH ROW
    WHEN (OLD.status = 'SEALED')
    EXECUTE FUNCTION passport.refuse('a sealed snapshot never changes');

CREATE TRIGGER snapshots_status BEFORE UPDATE ON passport.data_snapshots
    FOR EACH ROW
    WHEN (NOT (NEW.status = OLD.status OR (OLD.status = 'BUILDING' AND NEW.status = 'READY') OR (OLD.status = 'READY' AND NEW.status = 'SEALED')))
    EXECUTE FUNCTION passport.refuse('no such change of a snapshot''s status');

CREATE TRIGGER snapshots_kept BEFORE DELETE ON passport.data_snapshots
    FOR EACH ROW
    WHEN (OLD.status <> 'BUILDING')
    EXECUTE FUNCTION passport.refuse('only a snapshot that is BUILDING can be deleted');

CREATE TRIGGER rules_source BEFORE UPDATE ON passport.rule_package_versions
    FOR EACH ROW
    WHEN (OLD.status <> 'DRAFT' AND (NEW.rules_source IS DISTINCT FROM OLD.rules_source OR NEW.tests_source IS DISTINCT FROM OLD.tests_source))
    EXECUTE FUNCTION passport.refuse('rules and tests change in a DRAFT only');

CREATE TRIGGER rules_status BEFORE UPDATE ON passport.rule_package_versions
    FOR EACH ROW
    WHEN (NOT (NEW.status = OLD.status OR (OLD.status = 'DRAFT' AND NEW.status = 'VALIDATED') OR (OLD.status = 'VALIDATED' AND NEW.status = 'DRAFT') OR (OLD.status = 'VALIDATED' AND NEW.status = 'PUBLISHED') OR (OLD.status = 'PUBLISHED' AND NEW.status = 'DEPRECATED') OR (OLD.status = 'DEPRECATED' AND NEW.status = 'RETIRED')))
    EXECUTE FUNCTION passport.refuse('no such change of a rule package version''s status');

CREATE TRIGGER rules_kept BEFORE DELETE ON passport.rule_package_versions
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('rule package versions are never deleted');

CREATE TRIGGER documents_content BEFORE UPDATE ON passport.document_versions
    FOR EACH ROW
    WHEN (NEW.tenant_id IS DISTINCT FROM OLD.tenant_id OR NEW.document_id IS DISTINCT FROM OLD.document_id OR NEW.kind IS DISTINCT FROM OLD.kind OR NEW.content IS DISTINCT FROM OLD.content OR NEW.content_hash IS DISTINCT FROM OLD.content_hash)
    EXECUTE FUNCTION passport.refuse('the content of a document version never changes');

CREATE TRIGGER documents_status BEFORE UPDATE ON passport.document_versions
    FOR EACH ROW
    WHEN (NOT (NEW.status = OLD.status OR (OLD.status = 'UPLOADED' AND NEW.status = 'VALIDATED') OR (OLD.status = 'UPLOADED' AND NEW.status = 'REJECTED') OR (OLD.status = 'UPLOADED' AND NEW.status = 'PARSED') OR (OLD.status = 'PARSED' AND NEW.status = 'VALIDATED') OR (OLD.status = 'PARSED' AND NEW.status = 'REJECTED')))
    EXECUTE FUNCTION passport.refuse('no such change of a document version''s status');

CREATE TRIGGER documents_kept BEFORE DELETE ON passport.document_versions
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('document versions are never deleted');

CREATE TRIGGER deliveries_body BEFORE UPDATE ON passport.webhook_deliveries
    FOR EACH ROW
    WHEN (NEW.body IS DISTINCT FROM OLD.body OR NEW.endpoint_id IS DISTINCT FROM OLD.endpoint_id OR NEW.event_id IS DISTINCT FROM OLD.event_id)
    EXECUTE FUNCTION passport.refuse('the body of a delivery never changes');

CREATE TRIGGER events_not_emptied BEFORE TRUNCATE ON passport.events
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('events are never emptied');

CREATE TRIGGER facts_not_emptied BEFORE TRUNCATE ON passport.facts
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('facts are never emptied');

CREATE TRIGGER passport_versions_not_emptied BEFORE TRUNCATE ON passport.passport_versions
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('passport_versions are never emptied');

CREATE TRIGGER snapshot_items_not_emptied BEFORE TRUNCATE ON passport.snapshot_items
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('snapshot_items are never emptied');

CREATE TRIGGER tree_heads_not_emptied BEFORE TRUNCATE ON passport.tree_heads
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('tree_heads are never emptied');
