"""The tables of the platform."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from backstay_watchpoint.store.types import Json, Moment

metadata = MetaData()


def _organization() -> Column[str]:
    return Column(
        "organization_id", ForeignKey("organizations.id", ondelete="CASCADE"), nullable=False, index=True
    )


organizations = Table(
    "organizations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="active"),
    Column("plan", Text, nullable=False, server_default="free"),
    Column("plan_limits", Json),
    Column("subscription_status", Text, nullable=False, server_default="active"),
    Column("stripe_customer_id", Text),
    Column("stripe_subscription_id", Text),
    Column("notification_preferences", Json, nullable=False),
    Column("next_digest_at", Moment),
    Column("last_digest_generated_at", Moment),
    Column("last_billing_sync_at", Moment),
    Column("overage_started_at", Moment),
    Column("payment_failed_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("deleted_at", Moment),
    Index("idx_organizations_digest_due", "next_digest_at", postgresql_where=text("deleted_at IS NULL")),
    Index("idx_organizations_deleted", "deleted_at", postgresql_where=text("deleted_at IS NOT NULL")),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_hash", Text, primary_key=True),
    _organization(),
    Column("source", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)

watchpoints = Table(
    "watchpoints",
    metadata,
    Column("id", Text, primary_key=True),
    _organization(),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="active"),
    Column("latitude", Float, nullable=False),
    Column("longitude", Float, nullable=False),
    Column("tile_id", Text, nullable=False),
    Column("conditions", Json, nullable=False),
    Column("metadata", Json, nullable=False),
    Column("time_window_start", Moment),
    Column("time_window_end", Moment),
    Column("archived_at", Moment),
    Column("archived_reason", Text),
    Column("paused_reason", Text),
    Column("created_at", Moment, nullable=False),
    Index(
        "idx_watchpoints_archive_candidates",
        "time_window_end",
        postgresql_where=text("status = 'active' AND time_window_end IS NOT NULL"),
        sqlite_where=text("status = 'active' AND time_window_end IS NOT NULL"),
    ),
    Index("idx_watchpoints_archived", "archived_at", postgresql_where=text("status = 'archived'")),
)

evaluation_state = Table(
    "evaluation_state",
    metadata,
    Column("watchpoint_id", ForeignKey("watchpoints.id", ondelete="CASCADE"), primary_key=True),
    Column("has_triggered", Boolean, nullable=False),
    Column("evaluated_at", Moment, nullable=False),
)

event_summaries = Table(
    "event_summaries",
    metadata,
    Column("watchpoint_id", ForeignKey("watchpoints.id", ondelete="CASCADE"), primary_key=True),
    Column("report", Json, nullable=False),
    Column("created_at", Moment, nullable=False),
)

forecast_runs = Table(
    "forecast_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("run_timestamp", Moment, nullable=False),
    Column("status", Text, nullable=False),
    Column("external_id", Text),
    Column("retry_count", Integer, nullable=False, server_default="0"),
    Column("failure_reason", Text),
    Column("submitted_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("storage_path", Text, nullable=False),
    Column("source_paths", Json, nullable=False),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("model", "run_timestamp", name="one_run_a_model_and_moment"),
    Index("idx_forecast_runs_status", "status", "run_timestamp"),
    Index("idx_forecast_runs_external_id", "external_id"),
)

rate_limits = Table(
    "rate_limits",
    metadata,
    Column("organization_id", ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    Column("source", Text, primary_key=True),
    Column("api_calls_count", Integer, nullable=False, server_default="0"),
    Column("watchpoints_count", Integer, nullable=False, server_default="0"),
    Column("period_start", Moment, nullable=False),
    Column("period_end", Moment, nullable=False, index=True),
)

usage_history = Table(
    "usage_history",
    metadata,
    Column("organization_id", ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    Column("date", Date, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("api_calls", Integer, nullable=False),
    Column("watchpoints", Integer, nullable=False),
    Column("notifications", Integer, nullable=False, server_default="0"),
)

provider_jobs = Table(
    "provider_jobs",
    metadata,
    Column("task_type", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("external_id", Text, index=True),
    Column("batch", Text, nullable=False, index=True),
    Column("requests", Integer, nullable=False, server_default="1"),
    Column("requested_at", Moment, nullable=False),
    Column("finished_at", Moment),
    Column("error", Text),
)

verification_results = Table(
    "verification_results",
    metadata,
    Column("forecast_run_id", ForeignKey("forecast_runs.id", ondelete="CASCADE"), primary_key=True),
    Column("location_id", Text, primary_key=True),
    Column("variable", Text, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("tile_id", Text, nullable=False, index=True),
    Column("value", Float, nullable=False),
    Column("computed_at", Moment, nullable=False),
)

calibration_coefficients = Table(
    "calibration_coefficients",
    metadata,
    Column("tile_id", Text, primary_key=True),
    Column("coefficients", Json, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

calibration_candidates = Table(
    "calibration_candidates",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tile_id", Text, nullable=False),
    Column("current_coefficients", Json, nullable=False),
    Column("proposed_coefficients", Json, nullable=False),
    Column("violation_reason", Text, nullable=False),
    Column("status", Text, nullable=False, server_default="pending"),
    Column("created_at", Moment, nullable=False),
    Column("decided_at", Moment),
    Column("decided_by", Text),
)

notifications = Table(
    "notifications",
    metadata,
    Column("id", Text, primary_key=True),
    _organization(),
    Column("watchpoint_id", ForeignKey("watchpoints.id", ondelete="SET NULL"), index=True),
    Column("payload", Json, nullable=False),
    Column("created_at", Moment, nullable=False, index=True),
)

notification_deliveries = Table(
    "notification_deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    Column("notification_id", ForeignKey("notifications.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("channel", Text, nullable=False, server_default="email"),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("next_retry_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("sent_at", Moment),
    Index(
        "idx_deliveries_deferred",
        "next_retry_at",
        postgresql_where=text("status = 'deferred'"),
        sqlite_where=text("status = 'deferred'"),
    ),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("organization_id", ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("response", Json),
    Column("expires_at", Moment, nullable=False, index=True),
)

security_events = Table(
    "security_events",
    metadata,
    Column("id", Text, primary_key=True),
    Column("event_type", Text, nullable=False),
    Column("attempted_at", Moment, nullable=False, index=True),
)

invites = Table(
    "invites",
    metadata,
    Column("id", Text, primary_key=True),
    _organization(),
    Column("email", Text, nullable=False),
    Column("expires_at", Moment, nullable=False, index=True),
)

audit_logs = Table(
    "audit_logs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("organization_id", Text),  # no foreign key: records outlive what they tell of
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("details", Json, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("idx_audit_logs_age", "created_at", "id"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("created_at", Moment, nullable=False, index=True),
)

billing_drifts = Table(
    "billing_drifts",
    metadata,
    Column("id", Text, primary_key=True),
    _organization(),
    Column("ours", Text, nullable=False),
    Column("theirs", Text, nullable=False),
    Column("found_at", Moment, nullable=False),
)

customer_intents = Table(
    "customer_intents",
    metadata,
    Column("organization_id", ForeignKey("organizations.id", ondelete="CASCADE"), primary_key=True),
    Column("idempotency_key", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
)

mirror_checks = Table(
    "mirror_checks",
    metadata,
    Column("mirror", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("checked_at", Moment, nullable=False),
    Column("error", Text),
    Column("failures_in_a_row", Integer, nullable=False, server_default="0"),
)

sent_mails = Table(
    "sent_mails",
    metadata,
    Column("dedupe_id", Text, primary_key=True),
    Column("organization_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("sent_at", Moment, nullable=False),
)

installation = Table("installation", metadata, Column("installed_at", Moment, nullable=False))

task_runs = Table(
    "task_runs",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("task", Text, nullable=False),
    Column("lock_id", Text),
    Column("period_end", Moment),
    Column("job_id", Text, nullable=False),
    Column("worker_id", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("error", Text),
    Column("items", Integer, nullable=False, server_default="0"),
    Column("candidates", Integer),
    Column("reference_time", Moment),
    Column("is_dry_run", Boolean, nullable=False),
    Column("is_forced", Boolean, nullable=False),
    Column("report", Json, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("finished_at", Moment),
    # The lock: one run of a period that is going on or has succeeded.
    Index(
        "one_run_a_period",
        "lock_id",
        unique=True,
        postgresql_where=text("lock_id IS NOT NULL AND status IN ('running', 'braked', 'success')"),
        sqlite_where=text("lock_id IS NOT NULL AND status IN ('running', 'braked', 'success')"),
    ),
    UniqueConstraint("job_id", name="one_run_a_job"),
    Index("idx_task_runs_reference", "task", "reference_time"),
    Index(
        "idx_task_runs_unfinished",
        "task",
        postgresql_where=text("status IN ('running', 'braked')"),
        sqlite_where=text("status IN ('running', 'braked')"),
    ),
)

run_changes = Table(
    "run_changes",
    metadata,
    Column("run_id", ForeignKey("task_runs.id", ondelete="CASCADE"), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("item_id", Text, primary_key=True),
    Column("change", Text, primary_key=True),
    Column("detail", Json, nullable=False),
)
