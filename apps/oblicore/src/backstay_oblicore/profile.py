"""The application's words and numbers for the engine."""

from __future__ import annotations

from typing import Any

from backstay import Backoff, ErrorClass, ErrorRules, PriorityScale, Profile, State
from backstay_oblicore.domain.errors import ModelTimeout, Refused, Unavailable
from backstay_oblicore.domain.registry import JOB_TYPES, PRIORITIES

DELIVERY_FOR = "72h"


def name(error: type[Exception]) -> str:
    """The name by which the engine knows an exception and its subclasses."""
    return f"{error.__module__}.{error.__qualname__}"


PROFILE = Profile(
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
    policy={
        "max_attempts": 3,
        "backoff": Backoff("2s"),
        "lease": "5m",
        "renew_every": "60s",
        "timeout_growth": 1,
        "cancel_running": False,
    },
    priority=PriorityScale(names=dict(PRIORITIES.items())),
    tenant_alias="company_id",
    rules=ErrorRules(
        exceptions={
            name(Refused): ErrorClass.INVALID_INPUT,
            name(ModelTimeout): ErrorClass.TIMEOUT,
            name(Unavailable): ErrorClass.TEMPORARY_RESOURCE,
        }
    ),
)


def kind_options(name: str) -> dict[str, Any]:
    """Return what the registry says about a job type, as keyword arguments of `app.job`."""
    job = JOB_TYPES[name]
    return {
        "kind": name,
        "queue": job.queue,
        "priority": PRIORITIES[job.priority],
        "timeout": f"{job.timeout_seconds}s",
        "max_attempts": job.max_retries + 1,
        "renew_every": f"{job.heartbeat_seconds}s",
    }
