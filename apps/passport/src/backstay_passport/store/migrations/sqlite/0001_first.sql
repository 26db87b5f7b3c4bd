CREATE TABLE tenants (
    id text NOT NULL,
    name text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);

CREATE TABLE users (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);

CREATE TABLE api_keys (
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

CREATE TABLE files (
    id text NOT NULL,
    tenant_id text NOT NULL,
    content blob NOT NULL,
    mime_type text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE documents (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    kind text,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE document_versions (
    id text NOT NULL,
    tenant_id text NOT NULL,
    document_id text NOT NULL,
    kind text NOT NULL,
    content blob NOT NULL,
    content_hash blob NOT NULL,
    mime_type text NOT NULL,
    format text NOT NULL,
    status text NOT NULL,
    error text,
    job_id text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (document_id) REFERENCES documents (id)
);

CREATE INDEX document_versions_by_document ON document_versions (tenant_id, document_id);

CREATE TABLE facts (
    id text NOT NULL,
    tenant_id text NOT NULL,
    fact_type text NOT NULL,
    fact_key text NOT NULL,
    schema_version integer NOT NULL,
    source_doc_version_id text NOT NULL,
    payload_canonical blob NOT NULL,
    payload_hash blob NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, source_doc_version_id, fact_type, fact_key),
    FOREIGN KEY (source_doc_version_id) REFERENCES document_versions (id)
);

CREATE INDEX facts_by_key ON facts (tenant_id, fact_type, fact_key);

CREATE TABLE data_snapshots (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    snapshot_hash blob,
    sealed_at text,
    built_by_job text,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE snapshot_items (
    snapshot_id text NOT NULL,
    fact_id text NOT NULL,
    PRIMARY KEY (snapshot_id, fact_id),
    FOREIGN KEY (snapshot_id) REFERENCES data_snapshots (id),
    FOREIGN KEY (fact_id) REFERENCES facts (id)
);

CREATE TABLE snapshot_secrets (
    snapshot_id text NOT NULL,
    secret blob NOT NULL,
    PRIMARY KEY (snapshot_id),
    FOREIGN KEY (snapshot_id) REFERENCES data_snapshots (id)
);

CREATE TABLE rule_packages (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE rule_package_versions (
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
    FOREIGN KEY (package_id) REFERENCES rule_packages (id)
);

CREATE TABLE rule_tests_runs (
    id text NOT NULL,
    tenant_id text NOT NULL,
    rule_package_version_id text NOT NULL,
    seed integer NOT NULL,
    total_cases integer NOT NULL,
    passed_count integer NOT NULL,
    failed_count integer NOT NULL,
    status text NOT NULL,
    first_failure text,
    job_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (rule_package_version_id) REFERENCES rule_package_versions (id)
);

CREATE TABLE battery_products (
    id text NOT NULL,
    tenant_id text NOT NULL,
    sku text NOT NULL,
    gtin text,
    name text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (tenant_id, sku)
);

CREATE TABLE battery_units (
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
    FOREIGN KEY (product_id) REFERENCES battery_products (id)
);

CREATE INDEX battery_units_by_product ON battery_units (tenant_id, product_id);

CREATE TABLE passports (
    id text NOT NULL,
    tenant_id text NOT NULL,
    battery_product_id text NOT NULL,
    battery_unit_id text,
    active_version_id text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (battery_product_id, battery_unit_id),
    FOREIGN KEY (battery_product_id) REFERENCES battery_products (id),
    FOREIGN KEY (battery_unit_id) REFERENCES battery_units (id)
);

CREATE INDEX passports_by_unit ON passports (battery_unit_id);

CREATE TABLE passport_versions (
    id text NOT NULL,
    tenant_id text NOT NULL,
    passport_id text NOT NULL,
    snapshot_id text NOT NULL,
    rule_package_version_id text NOT NULL,
    subject_canonical blob NOT NULL,
    payload_canonical blob NOT NULL,
    payload_hash blob NOT NULL,
    proof_canonical blob NOT NULL,
    proof_root_hash blob NOT NULL,
    receipt_canonical blob NOT NULL,
    receipt_hash blob NOT NULL,
    compiler_build_id text NOT NULL,
    issued_at text NOT NULL,
    status text NOT NULL,
    signature blob,
    signing_key_id text,
    signing_key_public blob,
    qr_payload text,
    qr_png blob,
    job_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (passport_id) REFERENCES passports (id),
    FOREIGN KEY (snapshot_id) REFERENCES data_snapshots (id),
    FOREIGN KEY (rule_package_version_id) REFERENCES rule_package_versions (id)
);

CREATE INDEX passport_versions_by_passport ON passport_versions (tenant_id, passport_id);

CREATE TABLE passport_exports (
    id text NOT NULL,
    tenant_id text NOT NULL,
    passport_version_id text NOT NULL,
    format text NOT NULL,
    is_public boolean NOT NULL,
    content blob NOT NULL,
    content_hash blob NOT NULL,
    destination text,
    job_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (job_id),
    FOREIGN KEY (passport_version_id) REFERENCES passport_versions (id)
);

CREATE INDEX passport_exports_by_version ON passport_exports (tenant_id, passport_version_id);

CREATE TABLE events (
    event_id text NOT NULL,
    tenant_id text NOT NULL,
    aggregate_type text NOT NULL,
    aggregate_id text NOT NULL,
    aggregate_version integer NOT NULL,
    event_type text NOT NULL,
    occurred_at text NOT NULL,
    actor_id text,
    payload_canonical blob NOT NULL,
    prev_hash blob NOT NULL,
    hash blob NOT NULL,
    PRIMARY KEY (event_id),
    UNIQUE (tenant_id, aggregate_type, aggregate_id, aggregate_version)
);

CREATE TABLE tree_heads (
    id text NOT NULL,
    tenant_id text NOT NULL,
    root blob NOT NULL,
    ends blob NOT NULL,
    signature blob NOT NULL,
    key_id text NOT NULL,
    public_key blob NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE webhook_endpoints (
    id text NOT NULL,
    tenant_id text NOT NULL,
    url text NOT NULL,
    secret blob NOT NULL,
    active boolean,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE webhook_subscriptions (
    endpoint_id text NOT NULL,
    event_type text NOT NULL,
    PRIMARY KEY (endpoint_id, event_type),
    FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints (id)
);

CREATE TABLE webhook_deliveries (
    id text NOT NULL,
    tenant_id text NOT NULL,
    endpoint_id text NOT NULL,
    event_id text NOT NULL,
    event_type text NOT NULL,
    body blob NOT NULL,
    status text NOT NULL,
    attempts integer NOT NULL,
    http_status integer,
    response_headers text,
    response_body blob,
    error text,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (endpoint_id, event_id),
    FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints (id),
    FOREIGN KEY (event_id) REFERENCES events (event_id)
);

CREATE INDEX webhook_deliveries_by_tenant ON webhook_deliveries (tenant_id, created_at);

CREATE TABLE access_tokens (
    id text NOT NULL,
    tenant_id text NOT NULL,
    name text NOT NULL,
    audience text NOT NULL,
    digest blob NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);

CREATE TABLE access_log (
    id text NOT NULL,
    tenant_id text NOT NULL,
    token_id text NOT NULL,
    passport_id text NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE signing_keys (
    key_id text NOT NULL,
    public_key blob NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (key_id)
);

CREATE TRIGGER versions_canonical BEFORE UPDATE ON passport_versions
    WHEN NEW.id IS NOT OLD.id OR NEW.tenant_id IS NOT OLD.tenant_id OR NEW.passport_id IS NOT OLD.passport_id OR NEW.snapshot_id IS NOT OLD.snapshot_id OR NEW.rule_package_version_id IS NOT OLD.rule_package_version_id OR NEW.subject_canonical IS NOT OLD.subject_canonical OR NEW.payload_canonical IS NOT OLD.payload_canonical OR NEW.payload_hash IS NOT OLD.payload_hash OR NEW.proof_canonical IS NOT OLD.proof_canonical OR NEW.proof_root_hash IS NOT OLD.proof_root_hash OR NEW.receipt_canonical IS NOT OLD.receipt_canonical OR NEW.receipt_hash IS NOT OLD.receipt_hash OR NEW.compiler_build_id IS NOT OLD.compiler_build_id OR NEW.issued_at IS NOT OLD.issued_at OR NEW.job_id IS NOT OLD.job_id OR NEW.created_at IS NOT OLD.created_at
BEGIN
    SELECT RAISE(ABORT, 'the bytes of a passport version never change');
END;

CREATE TRIGGER versions_once BEFORE UPDATE ON passport_versions
    WHEN (OLD.signature IS NOT NULL AND NEW.signature IS NOT OLD.signature) OR (OLD.signing_key_id IS NOT NULL AND NEW.signing_key_id IS NOT OLD.signing_key_id) OR (OLD.signing_key_public IS NOT NULL AND NEW.signing_key_public IS NOT OLD.signing_key_public) OR (OLD.qr_payload IS NOT NULL AND NEW.qr_payload IS NOT OLD.qr_payload) OR (OLD.qr_png IS NOT NULL AND NEW.qr_png IS NOT OLD.qr_png)
BEGIN
    SELECT RAISE(ABORT, 'signature and code of a passport version are written once');
END;

CREATE TRIGGER versions_status BEFORE UPDATE ON passport_versions
    WHEN NOT (NEW.status = OLD.status OR (OLD.status = 'COMPILING' AND NEW.status = 'SIGNED') OR (OLD.status = 'SIGNED' AND NEW.status = 'ACTIVE') OR (OLD.status = 'SIGNED' AND NEW.status = 'REVOKED') OR (OLD.status = 'ACTIVE' AND NEW.status = 'SUPERSEDED') OR (OLD.status = 'ACTIVE' AND NEW.status = 'REVOKED') OR (OLD.status = 'SUPERSEDED' AND NEW.status = 'REVOKED'))
BEGIN
    SELECT RAISE(ABORT, 'no such change of a passport version''s status');
END;

CREATE TRIGGER versions_kept BEFORE DELETE ON passport_versions
BEGIN
    SELECT RAISE(ABORT, 'passport versions are never deleted');
END;

CREATE TRIGGER facts_fixed BEFORE UPDATE ON facts
BEGIN
    SELECT RAISE(ABORT, 'facts never change');
END;

CREATE TRIGGER facts_kept BEFORE DELETE ON facts
BEGIN
    SELECT RAISE(ABORT, 'facts are never deleted');
END;

CREATE TRIGGER events_fixed BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are only appended');
END;

CREATE TRIGGER events_kept BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are only appended');
END;

CREATE TRIGGER heads_fixed BEFORE UPDATE ON tree_heads
BEGIN
    SELECT RAISE(ABORT, 'tree heads are only appended');
END;

CREATE TRIGGER heads_kept BEFORE DELETE ON tree_heads
BEGIN
    SELECT RAISE(ABORT, 'tree heads are only appended');
END;

CREATE TRIGGER items_added BEFORE INSERT ON snapshot_items
    WHEN (SELECT status FROM data_snapshots WHERE id = NEW.snapshot_id) <> 'BUILDING'
BEGIN
    SELECT RAISE(ABORT, 'facts are added to a snapshot that is BUILDING only');
END;

CREATE TRIGGER items_fixed BEFORE UPDATE ON snapshot_items
BEGIN
    SELECT RAISE(ABORT, 'the facts of a snapshot are not exchanged');
END;

CREATE TRIGGER items_kept BEFORE DELETE ON snapshot_items
    WHEN (SELECT status FROM data_snapshots WHERE id = OLD.snapshot_id) <> 'BUILDING'
BEGIN
    SELECT RAISE(ABORT, 'facts are taken from a snapshot that is BUILDING only');
END;

CREATE TRIGGER secrets_fixed BEFORE UPDATE ON snapshot_secrets
BEGIN
    SELECT RAISE(ABORT, 'the secret of a snapshot never changes');
END;

CREATE TRIGGER secrets_kept BEFORE DELETE ON snapshot_secrets
BEGIN
    SELECT RAISE(ABORT, 'the secret of a snapshot never changes');
END;

CREATE TRIGGER snapshots_sealed BEFORE UPDATE ON data_snapshots
    WHEN OLD.status = 'SEALED'
BEGIN
    SELECT RAISE(ABORT, 'a sealed snapshot never changes');
END;

CREATE TRIGGER snapshots_status BEFORE UPDATE ON data_snapshots
    WHEN NOT (NEW.status = OLD.status OR (OLD.status = 'BUILDING' AND NEW.status = 'READY') OR (OLD.status = 'READY' AND NEW.status = 'SEALED'))
BEGIN
    SELECT RAISE(ABORT, 'no such change of a snapshot''s status');
END;

CREATE TRIGGER snapshots_kept BEFORE DELETE ON data_snapshots
    WHEN OLD.status <> 'BUILDING'
BEGIN
    SELECT RAISE(ABORT, 'only a snapshot that is BUILDING can be deleted');
END;

CREATE TRIGGER rules_source BEFORE UPDATE ON rule_package_versions
    WHEN OLD.status <> 'DRAFT' AND (NEW.rules_source IS NOT OLD.rules_source OR NEW.tests_source IS NOT OLD.tests_source)
BEGIN
    SELECT RAISE(ABORT, 'rules and tests change in a DRAFT only');
END;

CREATE TRIGGER rules_status BEFORE UPDATE ON rule_package_versions
    WHEN NOT (NEW.status = OLD.status OR (OLD.status = 'DRAFT' AND NEW.status = 'VALIDATED') OR (OLD.status = 'VALIDATED' AND NEW.status = 'DRAFT') OR (OLD.status = 'VALIDATED' AND NEW.status = 'PUBLISHED') OR (OLD.status = 'PUBLISHED' AND NEW.status = 'DEPRECATED') OR (OLD.status = 'DEPRECATED' AND NEW.status = 'RETIRED'))
BEGIN
    SELECT RAISE(ABORT, 'no such change of a rule package version''s status');
END;

CREATE TRIGGER rules_kept BEFORE DELETE ON rule_package_versions
BEGIN
    SELECT RAISE(ABORT, 'rule package versions are never deleted');
END;

CREATE TRIGGER documents_content BEFORE UPDATE ON document_versions
    WHEN NEW.tenant_id IS NOT OLD.tenant_id OR NEW.document_id IS NOT OLD.document_id OR NEW.kind IS NOT OLD.kind OR NEW.content IS NOT OLD.content OR NEW.content_hash IS NOT OLD.content_hash
BEGIN
    SELECT RAISE(ABORT, 'the content of a document version never changes');
END;

CREATE TRIGGER documents_status BEFORE UPDATE ON document_versions
    WHEN NOT (NEW.status = OLD.status OR (OLD.status = 'UPLOADED' AND NEW.status = 'VALIDATED') OR (OLD.status = 'UPLOADED' AND NEW.status = 'REJECTED') OR (OLD.status = 'UPLOADED' AND NEW.status = 'PARSED') OR (OLD.status = 'PARSED' AND NEW.status = 'VALIDATED') OR (OLD.status = 'PARSED' AND NEW.status = 'REJECTED'))
BEGIN
    SELECT RAISE(ABORT, 'no such change of a document version''s status');
END;

CREATE TRIGGER documents_kept BEFORE DELETE ON document_versions
BEGIN
    SELECT RAISE(ABORT, 'document versions are never deleted');
END;

CREATE TRIGGER deliveries_body BEFORE UPDATE ON webhook_deliveries
    WHEN NEW.body IS NOT OLD.body OR NEW.endpoint_id IS NOT OLD.endpoint_id OR NEW.event_id IS NOT OLD.event_id
BEGIN
    SELECT RAISE(ABORT, 'the body of a delivery never changes');
END;
