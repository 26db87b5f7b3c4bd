"""Five applications as profiles: the same engine under very different words and numbers."""

from __future__ import annotations

from backstay.model.backoff import Backoff
from backstay.model.classify import ErrorRules
from backstay.model.policy.policy import ClassRule, change
from backstay.model.policy.profile import RETRYING, PriorityScale, Profile
from backstay.model.states import State

SINGLE_KIND = change(max_attempts=2)
"""Oblicore's CONSULTANT_CLIENT_SYNC, the one kind that is retried once only."""

OBLICORE = Profile(
    name="oblicore",
    words={
        (State.SCHEDULED, ""): "PENDING",
        (State.HELD, ""): "PENDING",
        (State.AVAILABLE, ""): "PENDING",
        (State.RUNNING, ""): "RUNNING",
        (State.COMPLETED, ""): "COMPLETED",
        (State.DEAD, ""): "FAILED",
        (State.RESOLVED, ""): "FAILED",
        (State.CANCELLED, ""): "CANCELLED",
    },
    policy=change(
        max_attempts=3,
        backoff=Backoff("2s", multiplier=2, cap=None),
        lease="300s",
        renew_every="60s",
        timeout="300s",
        retry_unknown=False,
        cancel_running=False,
    ),
    queues={"deadline-alerts": change(priority=2), "consultant-sync": change(priority=8)},
    priority=PriorityScale(names={"HIGH": 2, "NORMAL": 5, "LOW": 8, 0: 5}),
    tenant_alias="company_id",
    rules=ErrorRules(codes={"LLM_TIMEOUT": "timeout"}),
)

AEON = Profile(
    name="aeon",
    words={
        (State.SCHEDULED, ""): "pending",
        (State.HELD, ""): "pending",
        (State.HELD, "paused"): "paused",
        (State.AVAILABLE, ""): "queued",
        (State.DEAD, ""): "dead_letter",
        (State.RESOLVED, ""): "failed",
    },
    policy=change(
        max_attempts=4,
        backoff=Backoff("1s", multiplier=2, cap=None, jitter=0.2),
        lease="300s",
        renew_every="10s",
        classes={
            "transient_network": ClassRule(max_attempts=6, backoff=Backoff("2s", cap=None, jitter=0.2)),
            "rate_limit": ClassRule(max_attempts=4, backoff=Backoff("60s", multiplier=1.5, cap=None)),
            "temporary_resource": ClassRule(max_attempts=4, backoff=Backoff.fixed(0)),
            "timeout": ClassRule(max_attempts=3),
            "internal_error": ClassRule(max_attempts=3, backoff=Backoff("5s", cap=None)),
            "database_error": ClassRule(max_attempts=6, backoff=Backoff("1s", cap=None)),
            "unknown": ClassRule(max_attempts=3, backoff=Backoff("5s", cap=None)),
        },
    ),
    priority=PriorityScale(first="high"),
    tenant_alias="team_id",
)

PASSPORT = Profile(
    name="passport",
    words={
        (State.SCHEDULED, ""): "QUEUED",
        (State.HELD, ""): "QUEUED",
        (State.AVAILABLE, ""): "QUEUED",
        (State.RUNNING, ""): "RUNNING",
        (State.COMPLETED, ""): "SUCCEEDED",
        (State.DEAD, ""): "DEAD_LETTER",
        (State.DEAD, "hopeless"): "FAILED",
        (State.RESOLVED, ""): "FAILED",
    },
    policy=change(
        max_attempts=5,
        backoff=Backoff("2s", multiplier=2, cap="1024s"),
        lease="60s",
        renew_every="30s",
        retry_unknown=False,
        exhausted_wins=True,
        cancel_running=False,
    ),
    rules=ErrorRules(exceptions={"DBUnavailable": "database_error", "QueueUnavailable": "transient_network"}),
)

WATCHPOINT = Profile(
    name="watchpoint",
    words={
        (State.RUNNING, ""): "running",
        (State.COMPLETED, ""): "success",
        (State.DEAD, ""): "failed",
        (State.RESOLVED, ""): "failed",
    },
    policy=change(max_attempts=1),
    tenant_alias="organization_id",
)

EXORA = Profile(
    name="exora",
    words={
        (State.SCHEDULED, ""): "pending",
        (State.SCHEDULED, RETRYING): "retrying",
        (State.AVAILABLE, ""): "pending",
        (State.AVAILABLE, RETRYING): "retrying",
        (State.HELD, ""): "deferred",
        (State.RUNNING, ""): "processing",
        (State.DEAD, ""): "failed",
        (State.RESOLVED, ""): "failed",
    },
    policy=change(
        max_attempts=4,
        backoff=Backoff.fixed("5m", jitter=0.2),
        lease="120s",
        renew_every="30s",
        cancel_running=False,
    ),
    categories=("critical", "high_priority", "standard", "background", "maintenance"),
    tenant_alias="patient_id",
)

ALL = (OBLICORE, AEON, PASSPORT, WATCHPOINT, EXORA)
