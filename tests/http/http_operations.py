"""Every operation of the API by hand: who may do it, and a request that works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Scope = Literal["own tenant", "all tenants", "everybody"]


@dataclass(frozen=True)
class Row:
    """Who may do an operation, and how to ask for it.

    `role` is the least that is needed, `scope` whether those of a tenant may do it for themselves or only those who
    act for all tenants. `on` is what its path names, made anew for every request.
    """

    role: Literal["viewer", "operator", "admin"]
    scope: Scope = "own tenant"
    on: str = ""
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    payloads: bool = False


REASON = {"reason": "because"}
ADD = {"kind": "add", "args": {"a": 1, "b": 2}}
FLOW = {"name": "sums", "jobs": [{"name": "one", **ADD}, {"name": "two", **ADD, "after": ["one"]}]}
RANGE = {"first": "2026-01-01T00:00:00Z", "last": "2026-01-03T00:00:00Z"}
SCHEDULE = {"name": "made", "kind": "add", "cron": "0 3 * * *", "args": {"a": 1, "b": 2}}
OVERRIDE = {"field": "timeout", "value": "5m", "kind": "add", "reason": "because"}
WEBHOOK = {"name": "pager", "url": "https://example.com/hooks", "events": ["job.dead"]}
OPERATION = {"verb": "dead_letters.retry", "letters": {"kind": "nobody"}, **REASON}
LIMIT = {"field": "limit", "value": 7, "kind": "add", "reason": "because"}

VIEW, ACT, ADMIN = "viewer", "operator", "admin"
ALL: Scope = "all tenants"

OPERATIONS: dict[str, Row] = {
    "jobs_create": Row(ACT, body=ADD),
    "jobs_create_many": Row(ACT, body={"jobs": [ADD, ADD]}),
    "jobs_search": Row(VIEW, query={"state": ["available", "held"], "limit": 5}),
    "jobs_counts": Row(VIEW),
    "jobs_get_job": Row(VIEW, on="waiting job"),
    "jobs_wait": Row(VIEW, on="completed job", query={"timeout": 0}),
    "jobs_result": Row(VIEW, on="completed job", payloads=True),
    "jobs_runs": Row(VIEW, on="completed job"),
    "jobs_steps": Row(VIEW, on="completed job"),
    "jobs_history": Row(VIEW, on="completed job"),
    "jobs_why": Row(VIEW, on="waiting job"),
    "jobs_cancel": Row(ACT, on="waiting job", body=REASON),
    "jobs_hold": Row(ACT, on="waiting job", body=REASON),
    "jobs_release": Row(ACT, on="held job"),
    "jobs_reschedule": Row(ACT, on="waiting job", body={"run_at": "2040-01-01T00:00:00Z"}),
    "jobs_run_now": Row(ACT, on="waiting job"),
    "jobs_set_priority": Row(ACT, on="waiting job", body={"priority": 1, **REASON}),
    "jobs_clone": Row(ACT, on="completed job", body=REASON),
    "jobs_send_signal": Row(ACT, on="waiting job", body={"name": "approved", "payload": 1}),
    "jobs_signals": Row(VIEW, on="waiting job"),
    "dead_letters_list_open": Row(VIEW),
    "dead_letters_groups": Row(VIEW),
    "dead_letters_of_job": Row(VIEW, on="dead job"),
    "dead_letters_retry": Row(ACT, on="dead job", body=REASON),
    "dead_letters_resolve": Row(ACT, on="dead job", body=REASON),
    "dead_letters_ignore": Row(ACT, on="dead job", body=REASON),
    "dead_letters_investigate": Row(ACT, on="dead job", body={"note": "looking"}),
    "dead_letters_retry_many": Row(ACT, body={**REASON, "kind": "add"}),
    "dead_letters_resolve_many": Row(ACT, body={**REASON, "kind": "add"}),
    "schedules_list_all": Row(VIEW),
    "schedules_create": Row(ACT, on="free name", body=SCHEDULE),
    "schedules_preview": Row(VIEW, query={"cron": "0 3 * * *"}),
    "schedules_get": Row(VIEW, on="schedule"),
    "schedules_remove": Row(ACT, on="schedule", query=REASON),
    "schedules_change": Row(ACT, on="schedule", body={"field": "cron", "value": "0 4 * * *", **REASON}),
    "schedules_unchange": Row(ACT, on="schedule field"),
    "schedules_pause": Row(ACT, on="schedule", body=REASON),
    "schedules_resume": Row(ACT, on="schedule"),
    "schedules_run_now": Row(ACT, on="schedule", body={}),
    "schedules_back_fill": Row(ACT, on="schedule", body={**RANGE, "preview": False}),
    "schedules_history": Row(VIEW, on="schedule"),
    "flows_list_all": Row(VIEW),
    "flows_start": Row(ACT, body=FLOW),
    "flows_get": Row(VIEW, on="flow"),
    "flows_members": Row(VIEW, on="flow"),
    "flows_dependencies": Row(VIEW, on="flow"),
    "flows_of_job": Row(VIEW, on="waiting job"),
    "flows_cancel": Row(ACT, on="flow", body=REASON),
    "flows_retry_from": Row(ACT, on="dead job", body=REASON),
    "queues_pauses": Row(VIEW),
    "queues_pause": Row(ACT, ALL, body={"queue": "letters", **REASON}),
    "queues_resume": Row(ACT, ALL, query={"queue": "letters"}),
    "quotas_list_quotas": Row(VIEW),
    "quotas_set_quota": Row(ADMIN, ALL, body={"most": 10_000, "tenant": "initech", **REASON}),
    "quotas_remove_quota": Row(ADMIN, ALL, query={"tenant": "initech"}),
    "limits_list_limits": Row(VIEW, ALL),
    "limits_holders": Row(VIEW, ALL, query={"key": "kind add"}),
    "limits_limit_changes": Row(VIEW, ALL),
    "limits_set_limit": Row(ADMIN, ALL, body=LIMIT),
    "limits_unset_limit": Row(ADMIN, ALL, on="limit field", query={"kind": "add"}),
    "overrides_list_overrides": Row(VIEW, ALL),
    "overrides_set_override": Row(ADMIN, ALL, body=OVERRIDE),
    "overrides_unset_override": Row(ADMIN, ALL, on="policy field", query={"kind": "add"}),
    "workers_list_workers": Row(VIEW, ALL),
    "workers_drain_worker": Row(ADMIN, ALL, on="worker", body=REASON),
    "workers_resume_worker": Row(ADMIN, ALL, on="worker"),
    "workers_stop_worker": Row(ADMIN, ALL, on="worker", body=REASON),
    "kinds_list_kinds": Row(VIEW),
    "locks_list_locks": Row(VIEW),
    "locks_get_lock": Row(VIEW, on="lock"),
    "locks_break_lock": Row(ACT, on="lock", body=REASON),
    "doctor_findings": Row(VIEW, ALL),
    "audit_verify_audit": Row(ADMIN, ALL),
    "audit_search_audit": Row(ACT),
    "keys_list_keys": Row(ADMIN),
    "keys_create_key": Row(ADMIN, body={"name": "shop"}),
    "keys_get_key": Row(ADMIN, on="key"),
    "keys_rotate_key": Row(ADMIN, on="key", body={}),
    "keys_revoke_key": Row(ADMIN, on="key", body=REASON),
    "webhooks_list_webhooks": Row(ADMIN),
    "webhooks_create_webhook": Row(ADMIN, body=WEBHOOK),
    "webhooks_get_webhook": Row(ADMIN, on="webhook"),
    "webhooks_change_webhook": Row(ADMIN, on="webhook", body={"is_enabled": False}),
    "webhooks_remove_webhook": Row(ADMIN, on="webhook"),
    "webhooks_rotate_webhook": Row(ADMIN, on="webhook", body={"overlap": "1h"}),
    "webhooks_test_webhook": Row(ADMIN, on="webhook"),
    "webhooks_list_deliveries": Row(ADMIN, on="webhook"),
    "webhooks_redeliver": Row(ADMIN, on="delivery"),
    "alerts_active_alerts": Row(VIEW, ALL),
    "alerts_alert_history": Row(VIEW, ALL),
    "alerts_mutes": Row(VIEW, ALL),
    "alerts_mute": Row(ACT, ALL, on="rule", body={"length": "1h", **REASON}),
    "alerts_unmute": Row(ACT, ALL, on="rule"),
    "failures_list_failures": Row(VIEW),
    "failures_assign_failure": Row(ACT, on="failure", body={"owner": "ada"}),
    "failures_close_failure": Row(ACT, on="failure", body=REASON),
    "operations_list_operations": Row(VIEW),
    "operations_start_operation": Row(ACT, body=OPERATION),
    "operations_get_operation": Row(VIEW, on="operation"),
    "operations_stop_operation": Row(ACT, on="operation"),
    "live_follow_all": Row(VIEW, query={"seconds": 0}),
    "live_follow_job": Row(VIEW, on="waiting job", query={"seconds": 0}),
    "live_follow_flow": Row(VIEW, on="flow", query={"seconds": 0}),
    "live_follow_queue": Row(VIEW, on="queue", query={"seconds": 0}),
    "live_follow_kind": Row(VIEW, on="kind", query={"seconds": 0}),
    "health_live": Row(VIEW, "everybody"),
    "health_ready": Row(VIEW),
    "health_check": Row(VIEW, ALL),
    "metrics_prometheus": Row(VIEW, ALL),
    "metrics_counters": Row(VIEW, ALL),
    "metrics_depths": Row(VIEW),
    "metrics_desired_workers": Row(VIEW, ALL),
    "metrics_kinds": Row(VIEW, ALL),
    "metrics_service_levels": Row(VIEW, ALL),
    "metrics_over_time": Row(VIEW, ALL, query={"last": "24h", "period": "hour"}),
}
