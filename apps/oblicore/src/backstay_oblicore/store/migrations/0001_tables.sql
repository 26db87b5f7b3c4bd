-- Companies, permits, duties, evidence, measurements, reports, packs and messages.

CREATE TABLE oblicore.companies (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (name <> ''),
    zone text NOT NULL DEFAULT 'Europe/London',
    settings jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

CREATE TABLE oblicore.sites (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    name text NOT NULL CHECK (name <> ''),
    regulator text NOT NULL DEFAULT 'EA' CHECK (regulator IN ('EA', 'SEPA', 'NRW', 'NIEA')),
    adjust_for_business_days boolean NOT NULL DEFAULT FALSE,
    grace_period_days integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    UNIQUE (id, company_id)
);

CREATE TABLE oblicore.users (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    email text NOT NULL UNIQUE,
    full_name text NOT NULL,
    phone text,
    password_hash text,
    is_platform_admin boolean NOT NULL DEFAULT FALSE,
    notification_preferences jsonb NOT NULL DEFAULT '{}',
    deleted_at timestamptz
);

CREATE TABLE oblicore.user_roles (
    user_id uuid NOT NULL REFERENCES oblicore.users,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    role text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'STAFF', 'CONSULTANT', 'VIEWER')),
    PRIMARY KEY (user_id, company_id, role)
);

CREATE TABLE oblicore.user_site_assignments (
    user_id uuid NOT NULL REFERENCES oblicore.users,
    site_id uuid NOT NULL REFERENCES oblicore.sites,
    PRIMARY KEY (user_id, site_id)
);

CREATE TABLE oblicore.modules (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    module_code text NOT NULL UNIQUE,
    module_name text NOT NULL,
    is_active boolean NOT NULL DEFAULT TRUE,
    cross_sell_keywords text[] NOT NULL DEFAULT '{}'
);

INSERT INTO oblicore.modules (module_code, module_name, cross_sell_keywords) VALUES
('MODULE_1', 'Environmental Permits', '{}'),
('MODULE_2', 'Trade Effluent', '{trade effluent,discharge consent,water company,sewer,effluent,discharge to drain}'),
('MODULE_3', 'MCPD and Generators', '{generator,mcpd,standby power,chp,combustion plant,back-up generator}');

CREATE TABLE oblicore.module_activations (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    module_id uuid NOT NULL REFERENCES oblicore.modules,
    status text NOT NULL DEFAULT 'ACTIVE',
    UNIQUE (company_id, module_id)
);

CREATE TABLE oblicore.documents (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    module_id uuid NOT NULL REFERENCES oblicore.modules,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    title text NOT NULL,
    document_type text NOT NULL DEFAULT 'ENVIRONMENTAL_PERMIT'
        CHECK (document_type IN ('ENVIRONMENTAL_PERMIT', 'TRADE_EFFLUENT_CONSENT', 'MCPD_REGISTRATION')),
    permit_number text,
    status text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('DRAFT', 'ACTIVE', 'SUPERSEDED', 'EXPIRED')),
    issue_date date,
    effective_date date,
    expiry_date date,
    anchors jsonb NOT NULL DEFAULT '{}',
    parent_document_id uuid REFERENCES oblicore.documents,
    extraction_status text NOT NULL DEFAULT 'PENDING',
    extraction_completed_at timestamptz,
    extracted_text text,
    error_message text,
    is_native_pdf boolean,
    ocr_confidence numeric(5, 4),
    page_count integer NOT NULL DEFAULT 0,
    file_size_bytes bigint NOT NULL DEFAULT 0,
    file_hash text,
    storage_path text,
    uploaded_by uuid REFERENCES oblicore.users,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    FOREIGN KEY (site_id, company_id) REFERENCES oblicore.sites (id, company_id)
);

CREATE TABLE oblicore.excel_imports (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES oblicore.users,
    status text NOT NULL DEFAULT 'PENDING'
        CHECK (status IN ('PENDING', 'PROCESSING', 'PENDING_REVIEW', 'COMPLETED', 'FAILED', 'CANCELLED')),
    file_name text,
    file_format text,
    file_path text,
    options jsonb NOT NULL DEFAULT '{}',
    column_mapping jsonb,
    valid_rows jsonb NOT NULL DEFAULT '[]',
    error_rows jsonb NOT NULL DEFAULT '[]',
    warning_rows jsonb NOT NULL DEFAULT '[]',
    row_count integer,
    valid_count integer,
    error_count integer,
    success_count integer,
    obligation_ids uuid[],
    error_message text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz,
    FOREIGN KEY (site_id, company_id) REFERENCES oblicore.sites (id, company_id)
);

CREATE TABLE oblicore.obligations (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid NOT NULL REFERENCES oblicore.documents,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    original_text text NOT NULL DEFAULT '',
    summary text NOT NULL,
    obligation_title text,
    obligation_description text,
    category text NOT NULL DEFAULT 'OPERATIONAL',
    condition_type text NOT NULL DEFAULT 'STANDARD',
    condition_reference text,
    page_number integer,
    fingerprint text,
    frequency text,
    due_rule jsonb,
    due_words text,
    base_date date,
    anchors jsonb NOT NULL DEFAULT '{}',
    last_completed_date date,
    completed_due_date date,
    deadline_date date,
    date_explanation jsonb,
    confidence_score numeric(5, 4),
    source text,
    subjective_phrases text[] NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'PENDING'
        CHECK (status IN ('PENDING', 'IN_PROGRESS', 'DUE_SOON', 'OVERDUE', 'COMPLETED', 'NOT_APPLICABLE')),
    review_status text NOT NULL DEFAULT 'PENDING'
        CHECK (review_status IN ('PENDING', 'CONFIRMED', 'EDITED', 'REJECTED')),
    rejection_reason text,
    assigned_to uuid REFERENCES oblicore.users,
    import_source text,
    excel_import_id uuid REFERENCES oblicore.excel_imports,
    import_row integer,
    created_by uuid REFERENCES oblicore.users,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    FOREIGN KEY (site_id, company_id) REFERENCES oblicore.sites (id, company_id),
    CONSTRAINT each_row_imported_once UNIQUE (excel_import_id, import_row)
);

CREATE INDEX obligations_of_document ON oblicore.obligations (document_id) WHERE deleted_at IS NULL;
CREATE INDEX obligations_by_deadline ON oblicore.obligations (company_id, deadline_date) WHERE deleted_at IS NULL;

CREATE TABLE oblicore.schedules (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    obligation_id uuid NOT NULL UNIQUE REFERENCES oblicore.obligations ON DELETE CASCADE,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    frequency text NOT NULL,
    base_date date,
    next_due_date date,
    is_rolling boolean NOT NULL DEFAULT FALSE,
    status text NOT NULL DEFAULT 'ACTIVE',
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE oblicore.deadlines (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    obligation_id uuid NOT NULL REFERENCES oblicore.obligations ON DELETE CASCADE,
    schedule_id uuid NOT NULL REFERENCES oblicore.schedules ON DELETE CASCADE,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    due_date date NOT NULL,
    status text NOT NULL DEFAULT 'PENDING'
        CHECK (status IN ('PENDING', 'DUE_SOON', 'OVERDUE', 'COMPLETED', 'NOT_APPLICABLE')),
    compliance_period_start date,
    compliance_period_end date,
    completed_at timestamptz,
    completed_by uuid REFERENCES oblicore.users,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT one_deadline_a_day UNIQUE (obligation_id, due_date)
);

CREATE INDEX deadlines_open ON oblicore.deadlines (due_date) WHERE status IN ('PENDING', 'DUE_SOON', 'OVERDUE');

CREATE TABLE oblicore.evidence_items (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    file_name text NOT NULL,
    file_type text NOT NULL,
    mime_type text NOT NULL,
    file_size_bytes bigint NOT NULL,
    file_hash text NOT NULL,
    storage_path text NOT NULL,
    is_archived boolean NOT NULL DEFAULT FALSE,
    uploaded_by uuid REFERENCES oblicore.users,
    upload_date timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    FOREIGN KEY (site_id, company_id) REFERENCES oblicore.sites (id, company_id)
);

CREATE TABLE oblicore.obligation_evidence_links (
    obligation_id uuid NOT NULL REFERENCES oblicore.obligations ON DELETE CASCADE,
    evidence_id uuid NOT NULL REFERENCES oblicore.evidence_items,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    linked_at timestamptz NOT NULL DEFAULT now(),
    linked_by uuid REFERENCES oblicore.users,
    unlinked_at timestamptz,
    PRIMARY KEY (obligation_id, evidence_id)
);

CREATE TABLE oblicore.extraction_rules (
    id text NOT NULL,
    module_code text NOT NULL,
    pattern text NOT NULL,
    confidence numeric(4, 3) NOT NULL,
    note text NOT NULL DEFAULT '',
    version text NOT NULL,
    is_active boolean NOT NULL DEFAULT TRUE,
    PRIMARY KEY (id, module_code)
);

CREATE TABLE oblicore.document_sentences (
    document_id uuid NOT NULL REFERENCES oblicore.documents ON DELETE CASCADE,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    position integer NOT NULL,
    page_number integer NOT NULL,
    reference text,
    text text NOT NULL,
    filed text NOT NULL CHECK (filed IN ('obligation', 'definition', 'open', 'rejected')),
    filed_by text NOT NULL DEFAULT '',
    reason text,
    decided_by uuid REFERENCES oblicore.users,
    decided_at timestamptz,
    PRIMARY KEY (document_id, position),
    CONSTRAINT only_a_person_rejects CHECK (filed <> 'rejected' OR (decided_by IS NOT NULL AND reason <> ''))
);

CREATE TABLE oblicore.review_queue_items (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid NOT NULL REFERENCES oblicore.documents ON DELETE CASCADE,
    obligation_id uuid REFERENCES oblicore.obligations ON DELETE CASCADE,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    review_type text NOT NULL,
    is_blocking boolean NOT NULL DEFAULT FALSE,
    priority integer NOT NULL DEFAULT 1,
    original_data jsonb NOT NULL DEFAULT '{}',
    review_status text NOT NULL DEFAULT 'PENDING',
    dedupe_key text NOT NULL,
    decided_by uuid REFERENCES oblicore.users,
    decided_at timestamptz,
    decision text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT asked_once UNIQUE (document_id, dedupe_key)
);

CREATE TABLE oblicore.extraction_logs (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid NOT NULL REFERENCES oblicore.documents ON DELETE CASCADE,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    extraction_timestamp timestamptz NOT NULL DEFAULT now(),
    model_identifier text,
    rule_library_version text,
    segments_processed integer NOT NULL,
    obligations_extracted integer NOT NULL,
    flagged_for_review integer NOT NULL,
    processing_time_ms integer NOT NULL,
    ocr_required boolean NOT NULL,
    ocr_confidence numeric(5, 4),
    errors jsonb NOT NULL DEFAULT '[]',
    warnings jsonb NOT NULL DEFAULT '[]',
    metadata jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE oblicore.parameters (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid NOT NULL REFERENCES oblicore.documents,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    parameter_type text NOT NULL,
    sampling_frequency text,
    sampling_weekday integer NOT NULL DEFAULT 0 CHECK (sampling_weekday BETWEEN 0 AND 6),
    limit_kind text NOT NULL DEFAULT 'MAXIMUM' CHECK (limit_kind IN ('MAXIMUM', 'MINIMUM', 'RANGE')),
    limit_value numeric,
    range_minimum numeric,
    unit text,
    is_active boolean NOT NULL DEFAULT TRUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE oblicore.lab_results (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    parameter_id uuid NOT NULL REFERENCES oblicore.parameters,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    sample_date date NOT NULL,
    recorded_value numeric NOT NULL,
    standing text NOT NULL DEFAULT 'NO_LIMIT',
    recorded_by uuid REFERENCES oblicore.users,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX lab_results_newest ON oblicore.lab_results (parameter_id, sample_date DESC);

CREATE TABLE oblicore.generators (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid NOT NULL REFERENCES oblicore.documents,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    generator_identifier text NOT NULL,
    generator_type text NOT NULL DEFAULT 'standby',
    capacity_mw numeric,
    fuel_type text NOT NULL DEFAULT 'gas oil',
    annual_run_hour_limit numeric,
    monthly_run_hour_limit numeric,
    anniversary_date date NOT NULL,
    current_year_hours numeric NOT NULL DEFAULT 0,
    current_month_hours numeric NOT NULL DEFAULT 0,
    is_active boolean NOT NULL DEFAULT TRUE,
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz
);

CREATE TABLE oblicore.run_hour_records (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    generator_id uuid NOT NULL REFERENCES oblicore.generators,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    recording_date date NOT NULL,
    hours_recorded numeric NOT NULL,
    purpose text NOT NULL DEFAULT 'OTHER' CHECK (purpose IN ('TESTING', 'EMERGENCY', 'OTHER')),
    is_draft boolean NOT NULL DEFAULT FALSE
);

CREATE INDEX run_hours_by_day ON oblicore.run_hour_records (generator_id, recording_date);

CREATE TABLE oblicore.stack_tests (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    generator_id uuid NOT NULL REFERENCES oblicore.generators,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    test_date date NOT NULL,
    nox_rate numeric,
    so2_rate numeric,
    co_rate numeric,
    particulates_rate numeric,
    compliance_status text NOT NULL DEFAULT 'PENDING'
        CHECK (compliance_status IN ('PENDING', 'PASS', 'FAIL', 'NON_COMPLIANT'))
);

CREATE TABLE oblicore.fuel_records (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    generator_id uuid NOT NULL REFERENCES oblicore.generators,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    recording_date date NOT NULL,
    quantity numeric NOT NULL
);

CREATE TABLE oblicore.incidents (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    generator_id uuid NOT NULL REFERENCES oblicore.generators,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    incident_date date NOT NULL,
    description text NOT NULL
);

CREATE TABLE oblicore.aer_documents (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid NOT NULL REFERENCES oblicore.documents,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    site_id uuid NOT NULL,
    job_id uuid UNIQUE,
    reporting_period_start date NOT NULL,
    reporting_period_end date NOT NULL,
    submission_deadline date NOT NULL,
    status text NOT NULL DEFAULT 'DRAFT' CHECK (status IN ('DRAFT', 'READY', 'SUBMITTED', 'ACKNOWLEDGED')),
    generator_data jsonb NOT NULL,
    fuel_consumption_data jsonb NOT NULL,
    emissions_data jsonb NOT NULL,
    incidents_data jsonb NOT NULL,
    report jsonb NOT NULL,
    total_run_hours numeric NOT NULL,
    is_validated boolean NOT NULL,
    validation_errors jsonb NOT NULL,
    generated_file_path text NOT NULL,
    generated_at timestamptz NOT NULL DEFAULT now(),
    created_by uuid REFERENCES oblicore.users
);

CREATE TABLE oblicore.audit_packs (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid REFERENCES oblicore.documents,
    site_id uuid,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    job_id uuid UNIQUE,
    pack_type text NOT NULL,
    recipient_type text,
    recipient_name text,
    purpose text,
    date_range_start date NOT NULL,
    date_range_end date NOT NULL,
    filters_applied jsonb NOT NULL DEFAULT '{}',
    output_format text NOT NULL DEFAULT 'PDF',
    storage_path text NOT NULL,
    content jsonb NOT NULL,
    manifest jsonb NOT NULL,
    file_sha256 text NOT NULL,
    total_obligations integer NOT NULL,
    complete_count integer NOT NULL,
    pending_count integer NOT NULL,
    overdue_count integer NOT NULL,
    evidence_count integer NOT NULL,
    integrity_errors_count integer NOT NULL,
    generation_time_ms integer NOT NULL,
    shared_link_token text UNIQUE,
    shared_link_expires_at timestamptz,
    generated_by uuid REFERENCES oblicore.users,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE oblicore.pack_distributions (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    pack_id uuid NOT NULL REFERENCES oblicore.audit_packs,
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    job_id uuid NOT NULL,
    distribution_method text NOT NULL CHECK (distribution_method IN ('EMAIL', 'SHARED_LINK', 'DOWNLOAD')),
    recipient_email text,
    recipient_name text,
    message text,
    status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SHARED')),
    reply text,
    sent_at timestamptz,
    viewed_at timestamptz,
    view_count integer NOT NULL DEFAULT 0,
    requested_by uuid REFERENCES oblicore.users,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX each_recipient_once ON oblicore.pack_distributions (job_id, coalesce(recipient_email, ''));

CREATE TABLE oblicore.consultant_client_assignments (
    consultant_id uuid NOT NULL REFERENCES oblicore.users,
    client_company_id uuid NOT NULL REFERENCES oblicore.companies,
    status text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'INACTIVE')),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consultant_id, client_company_id)
);

CREATE TABLE oblicore.consultant_dashboard_cache (
    consultant_id uuid NOT NULL REFERENCES oblicore.users,
    client_company_id uuid NOT NULL REFERENCES oblicore.companies,
    data jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consultant_id, client_company_id)
);

CREATE TABLE oblicore.cross_sell_triggers (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    company_id uuid NOT NULL REFERENCES oblicore.companies,
    target_module_id uuid NOT NULL REFERENCES oblicore.modules,
    trigger_type text NOT NULL,
    trigger_source text NOT NULL,
    detected_keywords text[] NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'pending',
    metadata jsonb NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (company_id, target_module_id, trigger_source)
);

CREATE TABLE oblicore.notifications (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    user_id uuid NOT NULL REFERENCES oblicore.users,
    company_id uuid REFERENCES oblicore.companies,
    site_id uuid,
    alert_type text NOT NULL CHECK (alert_type IN (
        'DEADLINE_ALERT', 'EVIDENCE_REMINDER', 'BREACH', 'SYSTEM', 'MODULE_ACTIVATION', 'EXCEEDANCE', 'ESCALATION'
    )),
    severity text NOT NULL CHECK (severity IN ('INFO', 'WARNING', 'ERROR', 'CRITICAL', 'SUCCESS')),
    priority text NOT NULL DEFAULT 'NORMAL' CHECK (priority IN ('NORMAL', 'HIGH', 'URGENT')),
    channel text NOT NULL CHECK (channel IN ('EMAIL', 'SMS', 'IN_APP', 'PUSH')),
    title text NOT NULL,
    message text NOT NULL,
    entity_type text,
    entity_id uuid,
    action_url text,
    metadata jsonb NOT NULL DEFAULT '{}',
    dedupe_key text,
    status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'SENT', 'FAILED', 'SHOWN', 'READ')),
    reply text,
    digest_on date,
    sent_at timestamptz,
    read_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT told_once UNIQUE (user_id, channel, dedupe_key)
);

CREATE INDEX notifications_of_user ON oblicore.notifications (user_id, created_at DESC);
CREATE INDEX notifications_of_entity ON oblicore.notifications (entity_id);
CREATE INDEX notifications_for_digest ON oblicore.notifications (user_id)
WHERE channel = 'EMAIL' AND status = 'PENDING' AND severity IN ('INFO', 'WARNING', 'SUCCESS');

CREATE TABLE oblicore.audit_logs (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    company_id uuid REFERENCES oblicore.companies,
    user_id uuid REFERENCES oblicore.users,
    action_type text NOT NULL,
    entity_type text NOT NULL,
    entity_id uuid,
    previous_values jsonb,
    new_values jsonb,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- What a job had done when it failed; the engine's own record has the error, this has the application's facts.
CREATE TABLE oblicore.job_facts (
    job_id uuid PRIMARY KEY,
    facts jsonb NOT NULL DEFAULT '{}',
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Deaths that have been told, so that no letter is announced twice.
CREATE TABLE oblicore.announced_deaths (
    job_id uuid NOT NULL,
    epoch integer NOT NULL,
    announced_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, epoch)
);
