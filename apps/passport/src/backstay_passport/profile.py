"""The application's own words and numbers for jobs."""

from __future__ import annotations

from backstay import Backoff, ErrorClass, ErrorRules, Profile, State
from backstay_passport.settings import Settings

MAX_ATTEMPTS = 5
BACKOFF = Backoff("2s", cap="1024s")

WORDS = {
    (State.SCHEDULED, ""): "QUEUED",
    (State.AVAILABLE, ""): "QUEUED",
    (State.HELD, ""): "QUEUED",
    (State.RUNNING, ""): "RUNNING",
    (State.COMPLETED, ""): "SUCCEEDED",
    (State.DEAD, ""): "FAILED",
    (State.DEAD, "hopeless"): "FAILED",
    (State.DEAD, "exhausted"): "DEAD_LETTER",
    (State.DEAD, "crash loop"): "DEAD_LETTER",
    (State.CANCELLED, ""): "CANCELLED",
    (State.RESOLVED, ""): "RESOLVED",
}

# What may be better next time; every other error of ours would come again.
RULES = ErrorRules(
    exceptions={
        "backstay_passport.domain.errors.WebhookError": ErrorClass.TRANSIENT_NETWORK,
        "backstay_passport.domain.errors.EventVersionConflict": ErrorClass.DATABASE_ERROR,
        "backstay_passport.domain.errors.NotFound": ErrorClass.NOT_FOUND,
        "backstay_passport.domain.errors.PassportError": ErrorClass.VALIDATION_ERROR,
        "backstay_parts.StorageUnavailable": ErrorClass.TRANSIENT_NETWORK,
        "backstay.TransactionTooLong": ErrorClass.DATABASE_ERROR,
        "sqlalchemy.exc.OperationalError": ErrorClass.DATABASE_ERROR,
        "sqlalchemy.exc.InterfaceError": ErrorClass.DATABASE_ERROR,
    }
)

PRIORITIES = {
    "SIGN_PASSPORT": 1,
    "GENERATE_QR": 2,
    "PARSE_FACTS": 3,
    "BUILD_SNAPSHOT": 3,
    "COMPILE_PASSPORT": 3,
    "INGEST_DOCUMENT": 3,
    "DELIVER_WEBHOOK": 4,
    "RUN_RULE_TESTS": 5,
    "EXPORT_PASSPORT": 5,
}


def profile_of(settings: Settings) -> Profile:
    """Return the profile with the numbers of the settings."""
    return Profile(
        name="passport",
        words=WORDS,
        policy={
            "max_attempts": MAX_ATTEMPTS,
            "backoff": BACKOFF,
            "lease": settings.lease,
            "renew_every": settings.lease_renew,
            "retry_unknown": False,
            "exhausted_wins": True,
            "ageing_step": "365d",
            "transaction_limit": "10s",
            "poll_busy": settings.poll_interval,
            "poll_idle": settings.poll_interval,
        },
        rules=RULES,
    )
