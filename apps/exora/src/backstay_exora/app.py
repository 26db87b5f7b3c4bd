"""The application's jobs: its numbers, its words, and where its handlers are registered."""

from pathlib import Path

from backstay import Backoff, Backstay, ClassRule, ErrorRules, Migrations, Profile, State
from backstay_exora.domain.failures import RULES
from backstay_exora.settings import read_settings

settings = read_settings()

FINAL, PASSING = "exora_final", "exora_passing"

PROFILE = Profile(
    name="exora",
    policy={
        "max_attempts": 4,
        "backoff": Backoff.fixed(settings.retry_delay, jitter=0.2),
        "ageing_step": "365d",
        "classes": {FINAL: ClassRule(retry=False)},
    },
    rules=ErrorRules(codes={code: PASSING if rule.is_retried else FINAL for code, rule in RULES.items()}),
    words={
        (State.AVAILABLE, ""): "pending",
        (State.SCHEDULED, ""): "pending",
        (State.SCHEDULED, "retrying"): "retrying",
        (State.HELD, ""): "deferred",
        (State.RUNNING, ""): "processing",
        (State.COMPLETED, ""): "completed",
        (State.DEAD, ""): "failed",
        (State.CANCELLED, ""): "cancelled",
    },
)

MIGRATIONS = Migrations("exora", Path(__file__).parent / "store" / "migrations")

app = Backstay(settings.database_url, profile=PROFILE, migrations=MIGRATIONS)
