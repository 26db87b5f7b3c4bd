"""The service's words and numbers for the engine."""

from __future__ import annotations

from backstay import Backoff, ClassRule, ErrorClass, ErrorRules, PriorityScale, Profile, State

JITTER = 0.2
URGENT_FROM = 8
"""Jobs of this priority and above go to the urgent half of their queue."""


def backoff(base: str, multiplier: float = 2.0) -> Backoff:
    """Delays that grow without a cap, spread by a fifth."""
    return Backoff(base, multiplier=multiplier, cap=None, jitter=JITTER)


CLASSES = {
    "transient_network": ClassRule(max_attempts=6, backoff=backoff("2s")),
    "rate_limit": ClassRule(max_attempts=4, backoff=backoff("60s", 1.5)),
    "temporary_resource": ClassRule(max_attempts=4, backoff=Backoff.fixed(0)),
    "timeout": ClassRule(max_attempts=3, backoff=backoff("5s")),
    "internal_error": ClassRule(max_attempts=3, backoff=backoff("5s")),
    "database_error": ClassRule(max_attempts=6, backoff=backoff("1s")),
    "unknown": ClassRule(max_attempts=3, backoff=backoff("5s")),
    **{
        name: ClassRule(retry=False)
        for name in (
            "validation_error",
            "authentication_error",
            "not_found",
            "permission_denied",
            "invalid_input",
            "result_invalid",
        )
    },
}

PROFILE = Profile(
    name="aeon",
    words={
        (State.SCHEDULED, ""): "pending",
        (State.AVAILABLE, ""): "pending",
        (State.HELD, ""): "pending",
        (State.HELD, "paused"): "paused",
        (State.HELD, "tenant paused"): "paused",
        (State.DEAD, ""): "dead_letter",
        (State.RESOLVED, ""): "failed",
    },
    policy={
        "max_attempts": 4,
        "backoff": backoff("1s"),
        "lease": "30s",
        "renew_every": "10s",
        "timeout": "300s",
        "max_timeout": "3600s",
        "timeout_growth": 1.5,
        "ageing_step": "365d",
        "classes": CLASSES,
        # A day longer than the thirty after which jobs are archived.
        "keep_completed": "31d",
        "keep_cancelled": "31d",
        "keep_resolved": "31d",
    },
    priority=PriorityScale(first="high"),
    tenant_alias="team_id",
    rules=ErrorRules(
        exceptions={
            "backstay_aeon.domain.errors.ValidationError": ErrorClass.VALIDATION_ERROR,
            "backstay_aeon.domain.errors.BadRequest": ErrorClass.INVALID_INPUT,
            "backstay_aeon.domain.errors.Missing": ErrorClass.NOT_FOUND,
            "backstay_aeon.domain.errors.Conflict": ErrorClass.INVALID_INPUT,
            "ValidationError": ErrorClass.VALIDATION_ERROR,
            "MemoryError": ErrorClass.TEMPORARY_RESOURCE,
        },
        texts={
            "ECONNREFUSED": ErrorClass.TRANSIENT_NETWORK,
            "ETIMEDOUT": ErrorClass.TRANSIENT_NETWORK,
            "rate limit": ErrorClass.RATE_LIMIT,
            "429": ErrorClass.RATE_LIMIT,
            "invalid": ErrorClass.VALIDATION_ERROR,
        },
    ),
)


def queue_for(own_queue: str, priority: int) -> str:
    """The queue of a job: urgent ones have a line of their own, which priority workers read."""
    return f"{own_queue}.urgent" if priority >= URGENT_FROM else own_queue
