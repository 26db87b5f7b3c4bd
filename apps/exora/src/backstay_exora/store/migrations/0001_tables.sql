-- The application's own tables.

CREATE SCHEMA IF NOT EXISTS exora;

CREATE TABLE exora.practices (
    id text PRIMARY KEY,
    name text NOT NULL,
    plan text NOT NULL DEFAULT 'standard' CHECK (plan IN ('standard', 'premium')),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE exora.staff (
    practice_id text NOT NULL REFERENCES exora.practices (id),
    name text NOT NULL PRIMARY KEY,
    password_hash text NOT NULL,
    role text NOT NULL CHECK (role IN ('reception', 'clinician', 'reviewer', 'admin')),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE exora.api_keys (
    prefix text PRIMARY KEY,
    digest text NOT NULL,
    practice_id text NOT NULL REFERENCES exora.practices (id),
    name text NOT NULL,
    role text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz
);

-- Patients, under the name that the job table refers to.
CREATE TABLE exora.user_profiles (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    practice_id text NOT NULL REFERENCES exora.practices (id),
    given_names text NOT NULL,
    family_name text NOT NULL,
    date_of_birth date NOT NULL,
    gender text CHECK (gender IN ('female', 'male')),
    address text,
    record_number text,
    ihi text,
    medicare text,
    email text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX user_profiles_of_practice ON exora.user_profiles (practice_id, family_name);

CREATE TABLE exora.shell_files (
    id uuid PRIMARY KEY,
    practice_id text NOT NULL REFERENCES exora.practices (id),
    patient_id uuid NOT NULL REFERENCES exora.user_profiles (id),
    filename text NOT NULL,
    storage_path text NOT NULL,
    mime text NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 text NOT NULL,
    status text NOT NULL DEFAULT 'uploaded' CHECK (
        status IN ('uploaded', 'read', 'classified', 'needs_review', 'extracted', 'done', 'rejected', 'failed', 'retracted')
    ),
    problem text,
    page_count integer,
    estimated_tokens integer,
    processing_session_id uuid NOT NULL,
    uploaded_by text NOT NULL,
    uploaded_at timestamptz NOT NULL DEFAULT now(),
    is_urgent boolean NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX shell_files_once ON exora.shell_files (practice_id, sha256) WHERE status <> 'retracted';
CREATE INDEX shell_files_newest ON exora.shell_files (practice_id, uploaded_at DESC, id);
CREATE INDEX shell_files_of_patient ON exora.shell_files (patient_id, uploaded_at DESC);

CREATE TABLE exora.staged_files (
    shell_file_id uuid PRIMARY KEY,
    content bytea NOT NULL CHECK (octet_length(content) <= 20971520),
    staged_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE exora.document_pages (
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    page integer NOT NULL,
    image_path text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    turn integer NOT NULL,
    confidence real NOT NULL,
    PRIMARY KEY (shell_file_id, page)
);

-- The words of a page in reading order; one row a page, because they are written and read together.
CREATE TABLE exora.ocr_words (
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    page integer NOT NULL,
    words jsonb NOT NULL,
    PRIMARY KEY (shell_file_id, page)
);

CREATE TABLE exora.pass1_entity_metrics (
    shell_file_id uuid PRIMARY KEY REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    patient_id uuid NOT NULL,
    processing_session_id uuid NOT NULL,
    document_kind text NOT NULL,
    medication_count integer NOT NULL,
    condition_count integer NOT NULL,
    allergy_count integer NOT NULL,
    prompt_tokens integer NOT NULL,
    completion_tokens integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE exora.profile_classification_audit (
    shell_file_id uuid PRIMARY KEY REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    patient_id uuid NOT NULL,
    contamination_risk_score numeric(3, 2) NOT NULL,
    manual_review_required boolean NOT NULL,
    cross_profile_risk_detected boolean NOT NULL,
    reasons jsonb NOT NULL,
    identity_markers jsonb NOT NULL,
    validation_method text NOT NULL CHECK (validation_method IN ('automated', 'manual_review')),
    decision text CHECK (decision IN ('approve', 'move', 'reject')),
    reviewer text,
    decision_reason text,
    decided_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT decision_has_author_and_reason CHECK (
        num_nonnulls(decision, reviewer, decision_reason, decided_at) IN (0, 4)
    )
);

-- What waits for a person: a document whose patient is in doubt, a refusal, a reading that is unsure.
CREATE TABLE exora.manual_review_queue (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    practice_id text NOT NULL,
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    patient_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('identity', 'refused', 'unsure_reading')),
    subject text NOT NULL DEFAULT '',
    reasons jsonb NOT NULL,
    boxes jsonb NOT NULL DEFAULT '[]',
    job_id uuid,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'decided', 'withdrawn')),
    decision text CHECK (decision IN ('approve', 'move', 'reject')),
    decided_patient_id uuid,
    decided_by text,
    decided_at timestamptz,
    decision_reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT decision_is_whole CHECK (
        (status = 'decided') = (num_nonnulls(decision, decided_by, decided_at, decision_reason) = 4)
    )
);
CREATE INDEX manual_review_open ON exora.manual_review_queue (practice_id, created_at) WHERE status = 'open';
CREATE UNIQUE INDEX manual_review_once ON exora.manual_review_queue (shell_file_id, kind, subject) WHERE status = 'open';

CREATE TABLE exora.patient_medications (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    patient_id uuid NOT NULL REFERENCES exora.user_profiles (id),
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id),
    processing_session_id uuid NOT NULL,
    name text NOT NULL,
    dose text NOT NULL,
    route text NOT NULL,
    frequency text NOT NULL,
    page integer NOT NULL,
    boxes jsonb NOT NULL,
    quote text NOT NULL,
    confidence real NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (shell_file_id, name, dose)
);
CREATE INDEX patient_medications_of_patient ON exora.patient_medications (patient_id);

CREATE TABLE exora.patient_conditions (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    patient_id uuid NOT NULL REFERENCES exora.user_profiles (id),
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id),
    processing_session_id uuid NOT NULL,
    name text NOT NULL,
    page integer NOT NULL,
    boxes jsonb NOT NULL,
    quote text NOT NULL,
    confidence real NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (shell_file_id, name)
);
CREATE INDEX patient_conditions_of_patient ON exora.patient_conditions (patient_id);

CREATE TABLE exora.patient_allergies (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    patient_id uuid NOT NULL REFERENCES exora.user_profiles (id),
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id),
    processing_session_id uuid NOT NULL,
    name text NOT NULL,
    reaction text NOT NULL,
    page integer NOT NULL,
    boxes jsonb NOT NULL,
    quote text NOT NULL,
    confidence real NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (shell_file_id, name)
);
CREATE INDEX patient_allergies_of_patient ON exora.patient_allergies (patient_id);

CREATE TABLE exora.set_aside (
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    kind text NOT NULL,
    name text NOT NULL,
    reason text NOT NULL
);
CREATE INDEX set_aside_of_file ON exora.set_aside (shell_file_id);

CREATE TABLE exora.clinical_narratives (
    id uuid PRIMARY KEY,
    patient_id uuid NOT NULL REFERENCES exora.user_profiles (id),
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    processing_session_id uuid NOT NULL,
    text text,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX clinical_narratives_of_file ON exora.clinical_narratives (shell_file_id);

CREATE TABLE exora.ai_calls (
    job_id uuid NOT NULL,
    call text NOT NULL,
    shell_file_id uuid NOT NULL,
    pass_number integer NOT NULL,
    model text NOT NULL,
    budget integer NOT NULL,
    verdict text NOT NULL,
    finish_reason text NOT NULL,
    prompt_tokens integer NOT NULL,
    completion_tokens integer NOT NULL,
    reasoning_tokens integer NOT NULL,
    cost_dollars numeric(12, 8) NOT NULL,
    called_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, call)
);
CREATE INDEX ai_calls_of_file ON exora.ai_calls (shell_file_id);

CREATE TABLE exora.consents (
    patient_id uuid NOT NULL REFERENCES exora.user_profiles (id),
    purpose text NOT NULL,
    given_at timestamptz NOT NULL,
    expires_at timestamptz,
    withdrawn_at timestamptz,
    PRIMARY KEY (patient_id, purpose)
);

CREATE TABLE exora.providers (
    number text PRIMARY KEY,
    name text,
    status text NOT NULL DEFAULT 'unverified' CHECK (status IN ('unverified', 'verified', 'unknown')),
    checked_at timestamptz
);

CREATE TABLE exora.document_embeddings (
    shell_file_id uuid PRIMARY KEY REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    vector real[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE exora.notifications (
    id uuid PRIMARY KEY,
    recipient text NOT NULL,
    message_id text,
    sent_at timestamptz
);

CREATE TABLE exora.retractions (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    practice_id text NOT NULL,
    shell_file_id uuid NOT NULL,
    retracted_by text NOT NULL,
    reason text NOT NULL,
    withdrawn jsonb NOT NULL,
    retracted_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE exora.audit_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    practice_id text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    reason text,
    details jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_of_practice ON exora.audit_log (practice_id, at DESC);
