-- What this service keeps beside the jobs, in a schema of its own.
CREATE SCHEMA IF NOT EXISTS aeon;

-- Keys of programs and passwords of people. Not in public.api_keys: that table is the product's, whatever its columns.
CREATE TABLE aeon.service_keys (
    prefix text PRIMARY KEY,
    digest text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    team_id uuid NOT NULL REFERENCES public.teams (id) ON DELETE CASCADE,
    user_id uuid REFERENCES public.users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

CREATE TABLE aeon.logins (
    user_id uuid PRIMARY KEY REFERENCES public.users (id) ON DELETE CASCADE,
    password_hash text NOT NULL,
    role text NOT NULL DEFAULT 'member'
);

CREATE TABLE aeon.datasets (
    team_id uuid NOT NULL REFERENCES public.teams (id) ON DELETE CASCADE,
    name text NOT NULL,
    key_column text NOT NULL,
    columns jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, name)
);

CREATE TABLE aeon.files (
    id uuid PRIMARY KEY,
    team_id uuid NOT NULL REFERENCES public.teams (id) ON DELETE CASCADE,
    created_by uuid REFERENCES public.users (id) ON DELETE SET NULL,
    name text NOT NULL,
    storage_key text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    mime text,
    facts jsonb NOT NULL DEFAULT '{}',
    job_id uuid,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX files_of_team ON aeon.files (team_id, created_at DESC);

CREATE TABLE aeon.imports (
    id uuid PRIMARY KEY,
    team_id uuid NOT NULL REFERENCES public.teams (id) ON DELETE CASCADE,
    created_by uuid REFERENCES public.users (id) ON DELETE SET NULL,
    dataset text NOT NULL,
    file_id uuid REFERENCES aeon.files (id) ON DELETE SET NULL,
    source_url text,
    form jsonb NOT NULL DEFAULT '{}',
    mapping jsonb NOT NULL DEFAULT '{}',
    on_error text NOT NULL DEFAULT 'skip',
    batch_size integer NOT NULL DEFAULT 1000,
    status text NOT NULL DEFAULT 'draft',
    total_rows bigint,
    dry_run jsonb,
    job_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz,
    undone_at timestamptz,
    notes jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT known_status CHECK (status IN ('draft', 'waiting', 'running', 'completed', 'failed', 'undone')),
    CONSTRAINT known_on_error CHECK (on_error IN ('skip', 'fail'))
);

CREATE INDEX imports_of_team ON aeon.imports (team_id, created_at DESC);

-- One row for each batch that is written; part 0 is the file itself, higher ones are corrected rejects sent back.
CREATE TABLE aeon.import_batches (
    import_id uuid NOT NULL REFERENCES aeon.imports (id) ON DELETE CASCADE,
    part integer NOT NULL,
    first_row bigint NOT NULL,
    last_row bigint NOT NULL,
    inserted integer NOT NULL,
    updated integer NOT NULL,
    unchanged integer NOT NULL,
    refused integer NOT NULL,
    sha256 text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    worker text,
    PRIMARY KEY (import_id, part, first_row)
);

CREATE TABLE aeon.import_parts (
    import_id uuid NOT NULL REFERENCES aeon.imports (id) ON DELETE CASCADE,
    part integer NOT NULL,
    file_id uuid REFERENCES aeon.files (id) ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (import_id, part)
);

CREATE TABLE aeon.import_rejects (
    import_id uuid NOT NULL REFERENCES aeon.imports (id) ON DELETE CASCADE,
    row_number bigint NOT NULL,
    cells jsonb NOT NULL,
    problems jsonb NOT NULL,
    part integer NOT NULL DEFAULT 0,
    corrected_in integer,
    PRIMARY KEY (import_id, row_number)
);

CREATE TABLE aeon.imported_records (
    team_id uuid NOT NULL REFERENCES public.teams (id) ON DELETE CASCADE,
    dataset text NOT NULL,
    external_key text COLLATE "C" NOT NULL,
    data jsonb NOT NULL,
    first_import_id uuid NOT NULL,
    import_id uuid NOT NULL,
    row_number bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (team_id, dataset, external_key)
);

CREATE INDEX imported_records_of_import ON aeon.imported_records (import_id, external_key);

-- What stood in a record before an import changed it.
CREATE TABLE aeon.before_images (
    import_id uuid NOT NULL REFERENCES aeon.imports (id) ON DELETE CASCADE,
    external_key text COLLATE "C" NOT NULL,
    data jsonb NOT NULL,
    previous_import_id uuid NOT NULL,
    previous_row bigint NOT NULL,
    PRIMARY KEY (import_id, external_key)
);

CREATE TABLE aeon.reports (
    id uuid PRIMARY KEY,
    team_id uuid NOT NULL REFERENCES public.teams (id) ON DELETE CASCADE,
    kind text NOT NULL,
    format text NOT NULL,
    period_from timestamptz NOT NULL,
    period_to timestamptz NOT NULL,
    storage_key text NOT NULL,
    size bigint NOT NULL,
    sha256 text NOT NULL,
    figures jsonb NOT NULL,
    job_id uuid NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX reports_of_team ON aeon.reports (team_id, created_at DESC);

CREATE TABLE aeon.alerts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rule text NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    action text NOT NULL,
    fired_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cleared_at timestamptz,
    figures jsonb NOT NULL DEFAULT '{}'
);

CREATE UNIQUE INDEX alerts_open ON aeon.alerts (rule) WHERE cleared_at IS NULL;

-- When each worker was there, so that its uptime can be told after its entry is gone.
CREATE TABLE aeon.worker_spans (
    worker_id text PRIMARY KEY,
    type text NOT NULL,
    started_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    ended text,
    CONSTRAINT known_end CHECK (ended IS NULL OR ended IN ('retired', 'died'))
);

CREATE TABLE aeon.scale_decisions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    workers integer NOT NULL,
    desired integer NOT NULL,
    reason text NOT NULL
);

-- How long submissions took, as the service measured them; kept for thirty days.
CREATE TABLE aeon.submissions (
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    took_ms real NOT NULL
);

CREATE INDEX submissions_at ON aeon.submissions USING brin (at);

-- Which waiting jobs were announced in Redis: those are called queued, the others pending.
CREATE TABLE aeon.announced (
    job_id uuid PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE aeon.archives (
    day date PRIMARY KEY,
    storage_key text NOT NULL,
    jobs integer NOT NULL,
    sha256 text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now()
);

-- The rows behind the view job_schedules; when each fires is the engine's.
CREATE TABLE aeon.schedule_rows (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name varchar(255) NOT NULL,
    job_type varchar(100) NOT NULL,
    payload_template jsonb NOT NULL DEFAULT '{}',
    schedule_type varchar(50) NOT NULL CHECK (schedule_type IN ('cron', 'interval', 'once')),
    cron_expression varchar(255),
    interval_ms bigint,
    run_at timestamptz,
    enabled boolean NOT NULL DEFAULT TRUE,
    max_runs integer,
    expires_at timestamptz,
    created_by uuid REFERENCES public.users (id) ON DELETE SET NULL,
    team_id uuid REFERENCES public.teams (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    metadata jsonb NOT NULL DEFAULT '{}',
    problem text,
    CONSTRAINT job_schedules_cron_check CHECK (
        (schedule_type = 'cron' AND cron_expression IS NOT NULL)
        OR (schedule_type = 'interval' AND interval_ms IS NOT NULL AND interval_ms > 0)
        OR (schedule_type = 'once' AND run_at IS NOT NULL)
    ),
    CONSTRAINT job_schedules_max_runs_check CHECK (max_runs IS NULL OR max_runs > 0)
);

CREATE INDEX idx_job_schedules_enabled ON aeon.schedule_rows (enabled) WHERE enabled;
CREATE INDEX idx_job_schedules_next_run ON aeon.schedule_rows (run_at) WHERE enabled;
CREATE INDEX idx_job_schedules_team_id ON aeon.schedule_rows (team_id);
CREATE INDEX idx_job_schedules_job_type ON aeon.schedule_rows (job_type);
