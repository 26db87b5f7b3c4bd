-- One passport for a model, one next life for a battery, and keys and tokens that can end.

CREATE UNIQUE INDEX passports_of_models ON passports (battery_product_id) WHERE battery_unit_id IS NULL;

CREATE UNIQUE INDEX battery_units_next_life ON battery_units (predecessor_id) WHERE predecessor_id IS NOT NULL;

CREATE INDEX battery_products_by_gtin ON battery_products (gtin) WHERE gtin IS NOT NULL;

CREATE INDEX access_log_by_tenant ON access_log (tenant_id, created_at);

ALTER TABLE documents ADD COLUMN job_id text;

ALTER TABLE access_tokens ADD COLUMN expires_at text;

ALTER TABLE access_tokens ADD COLUMN revoked_at text;

ALTER TABLE api_keys ADD COLUMN revoked_at text;

ALTER TABLE users ADD COLUMN revoked_at text;

CREATE TRIGGER versions_begin BEFORE INSERT ON passport_versions
    WHEN NEW.status <> 'COMPILING' OR NEW.signature IS NOT NULL OR NEW.qr_payload IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a passport version begins as COMPILING, without signature and code');
END;

CREATE TRIGGER snapshots_begin BEFORE INSERT ON data_snapshots
    WHEN NEW.status <> 'BUILDING'
BEGIN
    SELECT RAISE(ABORT, 'a snapshot begins as BUILDING');
END;

CREATE TRIGGER rules_begin BEFORE INSERT ON rule_package_versions
    WHEN NEW.status <> 'DRAFT'
BEGIN
    SELECT RAISE(ABORT, 'a rule package version begins as DRAFT');
END;

CREATE TRIGGER keys_fixed BEFORE UPDATE ON signing_keys
BEGIN
    SELECT RAISE(ABORT, 'signing keys are only added');
END;

CREATE TRIGGER keys_kept BEFORE DELETE ON signing_keys
BEGIN
    SELECT RAISE(ABORT, 'signing keys are only added');
END;
