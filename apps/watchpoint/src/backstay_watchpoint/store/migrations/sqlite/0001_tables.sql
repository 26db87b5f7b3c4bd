-- The platform's tables and the two views with the names that operators know.
CREATE TABLE alerts (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    severity TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_alerts_created_at ON alerts (created_at);

CREATE TABLE audit_logs (
    id TEXT NOT NULL,
    organization_id TEXT,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    details JSON NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_audit_logs_age ON audit_logs (created_at, id);

CREATE TABLE calibration_candidates (
    id TEXT NOT NULL,
    tile_id TEXT NOT NULL,
    current_coefficients JSON NOT NULL,
    proposed_coefficients JSON NOT NULL,
    violation_reason TEXT NOT NULL,
    status TEXT DEFAULT 'pending' NOT NULL,
    created_at TEXT NOT NULL,
    decided_at TEXT,
    decided_by TEXT,
    PRIMARY KEY (id)
);

CREATE TABLE calibration_coefficients (
    tile_id TEXT NOT NULL,
    coefficients JSON NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (tile_id)
);

CREATE TABLE forecast_runs (
    id TEXT NOT NULL,
    model TEXT NOT NULL,
    run_timestamp TEXT NOT NULL,
    status TEXT NOT NULL,
    external_id TEXT,
    retry_count INTEGER DEFAULT '0' NOT NULL,
    failure_reason TEXT,
    submitted_at TEXT NOT NULL,
    finished_at TEXT,
    storage_path TEXT NOT NULL,
    source_paths JSON NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT one_run_a_model_and_moment UNIQUE (model, run_timestamp)
);

CREATE INDEX idx_forecast_runs_external_id ON forecast_runs (external_id);

CREATE INDEX idx_forecast_runs_status ON forecast_runs (status, run_timestamp);

CREATE TABLE mirror_checks (
    mirror TEXT NOT NULL,
    source TEXT NOT NULL,
    checked_at TEXT NOT NULL,
    error TEXT,
    failures_in_a_row INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (mirror, source)
);

CREATE TABLE organizations (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    status TEXT DEFAULT 'active' NOT NULL,
    "plan" TEXT DEFAULT 'free' NOT NULL,
    plan_limits JSON,
    subscription_status TEXT DEFAULT 'active' NOT NULL,
    stripe_customer_id TEXT,
    stripe_subscription_id TEXT,
    notification_preferences JSON NOT NULL,
    next_digest_at TEXT,
    last_digest_generated_at TEXT,
    last_billing_sync_at TEXT,
    overage_started_at TEXT,
    payment_failed_at TEXT,
    created_at TEXT NOT NULL,
    deleted_at TEXT,
    PRIMARY KEY (id)
);

CREATE INDEX idx_organizations_deleted ON organizations (deleted_at);

CREATE INDEX idx_organizations_digest_due ON organizations (next_digest_at);

CREATE TABLE provider_jobs (
    task_type TEXT NOT NULL,
    subject TEXT NOT NULL,
    external_id TEXT,
    batch TEXT NOT NULL,
    requested_at TEXT NOT NULL,
    finished_at TEXT,
    error TEXT,
    PRIMARY KEY (task_type, subject)
);

CREATE INDEX ix_provider_jobs_batch ON provider_jobs (batch);

CREATE INDEX ix_provider_jobs_external_id ON provider_jobs (external_id);

CREATE TABLE security_events (
    id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    attempted_at TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX ix_security_events_attempted_at ON security_events (attempted_at);

CREATE TABLE sent_mails (
    dedupe_id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    PRIMARY KEY (dedupe_id)
);

CREATE TABLE task_runs (
    id INTEGER NOT NULL,
    task TEXT NOT NULL,
    lock_id TEXT,
    period_end TEXT,
    job_id TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    error TEXT,
    items INTEGER DEFAULT '0' NOT NULL,
    candidates INTEGER,
    reference_time TEXT,
    is_dry_run BOOLEAN NOT NULL,
    is_forced BOOLEAN NOT NULL,
    report JSON NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    PRIMARY KEY (id),
    CONSTRAINT one_run_a_job UNIQUE (job_id)
);

CREATE INDEX idx_task_runs_reference ON task_runs (task, reference_time);

CREATE UNIQUE INDEX one_run_a_period ON task_runs (lock_id) WHERE lock_id IS NOT NULL AND status IN ('running', 'braked', 'success');

CREATE TABLE api_keys (
    key_hash TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (key_hash),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_api_keys_organization_id ON api_keys (organization_id);

CREATE TABLE billing_drifts (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    ours TEXT NOT NULL,
    theirs TEXT NOT NULL,
    found_at TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_billing_drifts_organization_id ON billing_drifts (organization_id);

CREATE TABLE customer_intents (
    organization_id TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (organization_id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE TABLE idempotency_keys (
    organization_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    response JSON,
    expires_at TEXT NOT NULL,
    PRIMARY KEY (organization_id, "key"),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);

CREATE TABLE invites (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    email TEXT NOT NULL,
    expires_at TEXT NOT NULL,
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
    period_start TEXT NOT NULL,
    period_end TEXT NOT NULL,
    PRIMARY KEY (organization_id, source),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX ix_rate_limits_period_end ON rate_limits (period_end);

CREATE TABLE run_changes (
    run_id INTEGER NOT NULL,
    item TEXT NOT NULL,
    item_id TEXT NOT NULL,
    change TEXT NOT NULL,
    detail JSON NOT NULL,
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
    computed_at TEXT NOT NULL,
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
    conditions JSON NOT NULL,
    metadata JSON NOT NULL,
    time_window_start TEXT,
    time_window_end TEXT,
    archived_at TEXT,
    archived_reason TEXT,
    paused_reason TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES organizations (id) ON DELETE CASCADE
);

CREATE INDEX idx_watchpoints_archive_candidates ON watchpoints (time_window_end) WHERE status = 'active' AND time_window_end IS NOT NULL;

CREATE INDEX idx_watchpoints_archived ON watchpoints (archived_at);

CREATE INDEX ix_watchpoints_organization_id ON watchpoints (organization_id);

CREATE TABLE evaluation_state (
    watchpoint_id TEXT NOT NULL,
    has_triggered BOOLEAN NOT NULL,
    evaluated_at TEXT NOT NULL,
    PRIMARY KEY (watchpoint_id),
    FOREIGN KEY(watchpoint_id) REFERENCES watchpoints (id) ON DELETE CASCADE
);

CREATE TABLE event_summaries (
    watchpoint_id TEXT NOT NULL,
    report JSON NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (watchpoint_id),
    FOREIGN KEY(watchpoint_id) REFERENCES watchpoints (id) ON DELETE CASCADE
);

CREATE TABLE notifications (
    id TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    watchpoint_id TEXT,
    payload JSON NOT NULL,
    created_at TEXT NOT NULL,
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
    next_retry_at TEXT,
    created_at TEXT NOT NULL,
    sent_at TEXT,
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
    installed_at TEXT NOT NULL
);

INSERT INTO installation (installed_at)
VALUES (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'));
