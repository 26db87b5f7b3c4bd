-- One passport for a model, one next life for a battery, and keys and tokens that can end.

CREATE UNIQUE INDEX passports_of_models ON passport.passports (battery_product_id) WHERE battery_unit_id IS NULL;

CREATE UNIQUE INDEX battery_units_next_life ON passport.battery_units (predecessor_id) WHERE predecessor_id IS NOT NULL;

CREATE INDEX battery_products_by_gtin ON passport.battery_products (gtin) WHERE gtin IS NOT NULL;

CREATE INDEX access_log_by_tenant ON passport.access_log (tenant_id, created_at);

ALTER TABLE passport.documents ADD COLUMN job_id text;

ALTER TABLE passport.access_tokens ADD COLUMN expires_at text;

ALTER TABLE passport.access_tokens ADD COLUMN revoked_at text;

ALTER TABLE passport.api_keys ADD COLUMN revoked_at text;

ALTER TABLE passport.users ADD COLUMN revoked_at text;

CREATE TRIGGER versions_begin BEFORE INSERT ON passport.passport_versions
    FOR EACH ROW
    WHEN (NEW.status <> 'COMPILING' OR NEW.signature IS NOT NULL OR NEW.qr_payload IS NOT NULL)
    EXECUTE FUNCTION passport.refuse('a passport version begins as COMPILING, without signature and code');

CREATE TRIGGER snapshots_begin BEFORE INSERT ON passport.data_snapshots
    FOR EACH ROW
    WHEN (NEW.status <> 'BUILDING')
    EXECUTE FUNCTION passport.refuse('a snapshot begins as BUILDING');

CREATE TRIGGER rules_begin BEFORE INSERT ON passport.rule_package_versions
    FOR EACH ROW
    WHEN (NEW.status <> 'DRAFT')
    EXECUTE FUNCTION passport.refuse('a rule package version begins as DRAFT');

CREATE TRIGGER snapshot_secrets_not_emptied BEFORE TRUNCATE ON passport.snapshot_secrets
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('snapshot_secrets are never emptied');

CREATE TRIGGER data_snapshots_not_emptied BEFORE TRUNCATE ON passport.data_snapshots
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('data_snapshots are never emptied');

CREATE TRIGGER rule_package_versions_not_emptied BEFORE TRUNCATE ON passport.rule_package_versions
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('rule_package_versions are never emptied');

CREATE TRIGGER document_versions_not_emptied BEFORE TRUNCATE ON passport.document_versions
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('document_versions are never emptied');

CREATE TRIGGER keys_fixed BEFORE UPDATE ON passport.signing_keys
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('signing keys are only added');

CREATE TRIGGER keys_kept BEFORE DELETE ON passport.signing_keys
    FOR EACH ROW
    EXECUTE FUNCTION passport.refuse('signing keys are only added');

CREATE TRIGGER signing_keys_not_emptied BEFORE TRUNCATE ON passport.signing_keys
    FOR EACH STATEMENT EXECUTE FUNCTION passport.refuse('signing_keys are never emptied');
