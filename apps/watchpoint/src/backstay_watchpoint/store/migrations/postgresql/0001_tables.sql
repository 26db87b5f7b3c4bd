-- The platform's tables and the two views with the names that operators know.
CREATE SCHEMA IF NOT EXISTS watchpoint;

SET LOCAL search_path TO watchpoint;

CREATE TABLE alerts (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    severity TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_alerts_created_at ON alerts (created_at);

CREATE TABLE audit_logs (
    id TEXT NOT NULL,
    organization_id TEXT,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    details JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_audit_logs_age ON audit_logs (created_at, id);

CREATE TABLE calibration_candidates (
    id TEXT NOT NULL,
    tile_id TEXT NOT NULL,
    current_coefficients JSONB NOT NULL,
    proposed_coefficients JSONB NOT NULL,
    violation_reason TEXT NOT NULL,
    status TEXT DEFAULT 'pending' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE,
    decided_by TEXT,
    PRIMARY KEY (id)
);

CREATE TABLE calibration_coefficients (
    tile_id TEXT NOT NULL,
    coefficients JSONB NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (tile_id)
);

CREATE TABLE forecast_runs (
    id TEXT NOT NULL,
    model TEXT NOT NULL,
    run_timestamp TIMESTAMP WITH TIME ZONE NOT NULL,
    status TEXT NOT NULL,
    external_id TEXT,
    retry_count INTEGER DEFAULT '0' NOT NULL,
    failure_reason TEXT,
    submitted_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    storage_path TEXT NOT NULL,
    source_paths JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT one_run_a_model_and_moment UNIQUE (model, run_timestamp)
);

CREATE INDEX idx_forecast_runs_external_id ON forecast_runs (external_id);

CREATE INDEX idx_forecast_runs_status ON forecast_runs (status, run_timestamp);

CREATE TABLE mirror_checks (
    mirror TEXT NOT NULL,
    source TEXT NOT NULL,
    checked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    error TEXT,
    failures_in_a_row INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (mirror, source)
);

CREATE TABLE organizations (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    plan TEXT DEFAULT 'free' NOT NULL,
    plan_limits JSONB,
    subscription_status TEXT DEFAULT 'active' NOT NULL,
    stripe_customer_id TEXT,
    stripe_subscription_id TEXT,
    notification_preferences JSONB NOT NULL,
    next_digest_at TIMESTAMP WITH TIME ZONE,
    last_digest_generated_at TIMESTAMP WITH TIME ZONE,
    last_billing_sync_at TIMESTAMP WITH TIME ZONE,
    overage_started_at TIMESTAMP WITH TIME ZONE,
    payment_failed_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    deleted_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (id)
);

CREATE INDEX idx_organizations_deleted ON organizations (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE INDEX idx_organizations_digest_due ON organizations (next_digest_at) WHERE deleted_at IS NULL;

CREATE TABLE provider_jobs (
    task_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    external_id TEXT,
    batch TEXT NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    error TEXT,
    PRIMARY KEY (task_type, subject)
);

CREATE INDEX ix_provider_jobs_batch ON provider_jobs (batch);

CREATE INDEX ix_provider_jobs_external_id ON provider_jobs (external_id);

CREATE TABLE security_events (
    id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    attempted_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_security_events_attempted_at ON security_events (attempted_at);

CREATE TABLE sent_mails (
    dedupe_id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sent_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (dedupe_id)
);

CREATE TABLE task_runs (
    id BIGSERIAL NOT NULL,
    task TEXT NOT NULL,
    lock_id TEXT,
    period_end TIMESTAMP WITH TIME ZONE,
    job_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    trigger TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    error TEXT,
    items INTEGER DEFAULT '0' NOT NULL,
    candidates INTEGER,
    reference_time TIMESTAMP WITH TIME ZONE,
    is_dry_run BOOLEAN NOT NULL,
    is_forced BOOLEAN NOT NULL,
    report JSONB NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (id),
    CONSTRAINT one_run_a_job UNIQUE (job_id)
);

CREATE INDEX idx_task_runs_reference ON task_runs (task, reference_time);

CREATE UNIQUE INDEX one_run_a_period ON task_runs (lock_id) WHERE lock_id IS NOT NULL AND status IN ('running', 'braked', 'success');

CREATE TABLE api_keys (
    key_hash TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (key_hash),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_api_keys_organization_id ON api_keys (organization_id);

CREATE TABLE billing_drifts (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    ours TEXT NOT NULL,
    theirs TEXT NOT NULL,
    found_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_billing_drifts_organization_id ON billing_drifts (organization_id);

CREATE TABLE customer_intents (
    organization_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (organization_id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE TABLE idempotency_keys (
    organization_id TEXT NOT NULL,
    key TEXT NOT NULL,
    response JSONB,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (organization_id, key),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);

CREATE TABLE invites (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    email TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_invites_expires_at ON invites (expires_at);

CREATE INDEX ix_invites_organization_id ON invites (organization_id);

CREATE TABLE rate_limits (
    organization_id TEXT NOT NULL,
    source TEXT NOT NULL,
    api_calls_count INTEGER DEFAULT '0' NOT NULL,
    watchpoints_count INTEGER DEFAULT '0' NOT NULL,
    period_start TIMESTAMP WITH TIME ZONE NOT NULL,
    period_end TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (organization_id, source),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_rate_limits_period_end ON rate_limits (period_end);

CREATE TABLE run_changes (
    run_id BIGINT NOT NULL,
    item TEXT NOT NULL,
    item_id TEXT NOT NULL,
    change TEXT NOT NULL,
    detail JSONB NOT NULL,
    PRIMARY KEY (run_id, item, item_id, change),
    FOREIGN KEY(run_id) REFERENCES task_runs (id) ON DELETE CASCADE
);

CREATE TABLE usage_history (
    organization_id TEXT NOT NULL,
    date DATE NOT NULL,
    source TEXT NOT NULL,
    api_calls INTEGER NOT NULL,
    watchpoints INTEGER NOT NULL,
    notifications INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (organization_id, date, source),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE TABLE verification_results (
    forecast_run_id TEXT NOT NULL,
    location_id TEXT NOT NULL,
    variable TEXT NOT NULL,
    metric TEXT NOT NULL,
    tile_id TEXT NOT NULL,
    value FLOAT NOT NULL,
    computed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (forecast_run_id, location_id, variable, metric),
    FOREIGN KEY(forecast_run_id) REFERENCES forecast_runs (id) ON DELETE CASCADE
);

CREATE INDEX ix_verification_results_tile_id ON verification_results (tile_id);

CREATE TABLE watchpoints (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    latitude FLOAT NOT NULL,
    longitude FLOAT NOT NULL,
    tile_id TEXT NOT NULL,
    conditions JSONB NOT NULL,
    metadata JSONB NOT NULL,
    time_window_start TIMESTAMP WITH TIME ZONE,
    time_window_end TIMESTAMP WITH TIME ZONE,
    archived_at TIMESTAMP WITH TIME ZONE,
    archived_reason TEXT,
    paused_reason TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX idx_watchpoints_archive_candidates ON watchpoints (time_window_end) WHERE status = 'active' AND time_window_end IS NOT NULL;

CREATE INDEX idx_watchpoints_archived ON watchpoints (archived_at) WHERE status = 'archived';

CREATE INDEX ix_watchpoints_organization_id ON watchpoints (organization_id);

CREATE TABLE evaluation_state (
    watchpoint_id TEXT NOT NULL,
    has_triggered BOOLEAN NOT NULL,
    evaluated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (watchpoint_id),
    FOREIGN KEY(watchpoint_id) REFERENCES watchpoints (id) ON DELETE CASCADE
);

CREATE TABLE event_summaries (
    watchpoint_id TEXT NOT NULL,
    report JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (watchpoint_id),
    FOREIGN KEY(watchpoint_id) REFERENCES watchpoints (id) ON DELETE CASCADE
);

CREATE TABLE notifications (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    watchpoint_id TEXT,
    payload JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE,
    FOREIGN KEY(watchpoint_id) REFERENCES watchpoints (id) ON DELETE SET NULL
);

CREATE INDEX ix_notifications_created_at ON notifications (created_at);

CREATE INDEX ix_notifications_organization_id ON notifications (organization_id);

CREATE INDEX ix_notifications_watchpoint_id ON notifications (watchpoint_id);

CREATE TABLE notification_deliveries (
    id TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    channel TEXT DEFAULT 'email' NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    next_retry_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sent_at TIMESTAMP WITH TIME ZONE,
    PRIMARY KEY (id),
    FOREIGN KEY(notification_id) REFERENCES notifications (id) ON DELETE CASCADE
);

CREATE INDEX idx_deliveries_deferred ON notification_deliveries (next_retry_at) WHERE status = 'deferred';

CREATE INDEX ix_notification_deliveries_notification_id ON notification_deliveries (notification_id);

CREATE VIEW job_history AS
SELECT id, task AS job_type, status, items AS items_count, error, started_at, finished_at, reference_time, report AS metadata
FROM task_runs
WHERE NOT is_dry_run;

CREATE VIEW job_locks AS
SELECT lock_id AS id, worker_id, started_at AS locked_at, period_end AS expires_at
FROM task_runs
WHERE lock_id IS NOT NULL
  AND status IN ('running', 'braked', 'success');

-- One row: since when there are runs to miss.
CREATE TABLE installation (
    installed_at TIMESTAMP WITH TIME ZONE NOT NULL
);

INSERT INTO installation (installed_at)
VALUES (statement_timestamp());
