"""Pure decisions at their bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backstay_aeon import worker
from backstay_aeon.domain import alerts, scaling, slo, uptime
from backstay_aeon.domain.errors import BadSettings
from backstay_aeon.settings import Settings


def metrics(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "queueDepths": {"pending": 0, "dlq": 0},
        "workerStatus": [{"alive": True}],
        "performance": {"successful": 0, "failed": 0, "p95_duration_ms": None},
    }
    for name, value in changed.items():
        part = next(one for one in ("queueDepths", "performance") if name in found[one])
        found[part] = {**found[part], name: value}
    return found


@pytest.mark.parametrize(
    ("changed", "rules"),
    [
        ({"pending": 1000}, []),
        ({"pending": 1001}, ["high_queue_depth"]),
        ({"pending": 5000}, ["high_queue_depth"]),
        ({"pending": 5001}, ["high_queue_depth", "critical_queue_depth"]),
        ({"successful": 90, "failed": 10}, []),
        ({"successful": 91, "failed": 10}, []),
        ({"successful": 90, "failed": 11}, ["high_failure_rate"]),
        ({"dlq": 50}, []),
        ({"dlq": 51}, ["dlq_accumulation"]),
        ({"p95_duration_ms": 60_000}, []),
        ({"p95_duration_ms": 60_001}, ["slow_jobs"]),
    ],
)
def test_alert_rules_hold_beyond_their_bound_and_not_at_it(changed: dict[str, int], rules: list[str]) -> None:
    """AEO-032: 1000/1001, 5000/5001, 100/101 ended, 50/51, 60000/60001."""
    assert [rule.name for rule in alerts.firing(metrics(**changed))] == rules


@pytest.mark.parametrize(
    ("load", "desired"),
    [
        (scaling.Load(2, 101, 0, 0), 3),
        (scaling.Load(2, 100, 0, 0), 2),
        (scaling.Load(2, 50, 301, 0), 3),
        (scaling.Load(2, 50, 0, 80.1), 3),
        (scaling.Load(2, 9, 0, 0), 1),
        (scaling.Load(2, 10, 0, 0), 2),
        (scaling.Load(2, 101, 0, 0, seconds_since_change=299), 2),
        (scaling.Load(2, 101, 0, 0, seconds_since_change=300), 3),
        (scaling.Load(10, 500, 0, 0), 10),
        (scaling.Load(1, 0, 0, 0), 1),
    ],
)
def test_scaling_goes_one_step_within_bounds_and_after_the_cool_down(
    load: scaling.Load, desired: int
) -> None:
    """AEO-035: 100 up, 10 down, five minutes of waiting, 80 % of the processors."""
    assert scaling.decide(load).desired == desired


def test_promises_are_kept_missed_or_unknown() -> None:
    """AEO-034: six promises with their verdicts."""
    found = slo.verdicts({"submission_p95_ms": 99.9, "start_p95_ms": 5000, "completion_percent": 95.1})
    assert [one["verdict"] for one in found] == ["kept", "missed", "kept", "no data", "no data", "no data"]


NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)


def span(first: int, last: int, ended: str | None = None, kind: str = "general") -> uptime.Span:
    """A worker by the minutes before noon at which it started and was last seen."""
    return uptime.Span(kind, NOON - timedelta(minutes=first), NOON - timedelta(minutes=last), ended)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], None),
        ([span(60, 0)], 100.0),
        ([span(60, 30, "retired")], 100.0),
        # It died after 20 of 60 minutes, and nobody has come since: 20 of 60.
        ([span(60, 40, "died")], 100 * 20 / 60),
        # Nobody has told that it died, but it is silent.
        ([span(60, 40)], 100 * 20 / 60),
        # Another one of its type came 10 minutes later: 20 + 30 of 60.
        ([span(60, 40, "died"), span(30, 0)], 100 * 50 / 60),
        # A worker of another type does not do its work.
        ([span(60, 40, "died"), span(30, 0, kind="reports")], 100 * 50 / 90),
        # Two died and one came: the second one is still missing.
        ([span(60, 40, "died"), span(60, 40, "died"), span(30, 0)], 100 * 70 / (70 + 10 + 40)),
        # Only what lies within the window counts: it ran for 30 of the last 60 minutes, and was down for 30.
        ([span(600, 30, "died")], 50.0),
    ],
)
def test_a_dead_worker_is_down_until_another_one_takes_its_place(
    spans: list[uptime.Span], expected: float | None
) -> None:
    """AEO-034: reckoned by hand, an hour before noon."""
    found = uptime.percent(spans, NOON - timedelta(hours=1), NOON)
    assert found == (None if expected is None else pytest.approx(expected))


SAFE = {
    "AEON_PRODUCTION": "true",
    "AEON_SECRET": "s" * 32,
    "POSTGRES_PASSWORD": "of our own",
    "REDIS_PASSWORD": "of our own, too",
}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"REDIS_PASSWORD": "aeon_redis_dev"}, "REDIS_PASSWORD"),
        ({"REDIS_PASSWORD": ""}, "REDIS_PASSWORD"),
        ({"POSTGRES_PASSWORD": ""}, "POSTGRES_PASSWORD"),
        ({"AEON_DATABASE_URL": "postgresql://postgres:postgres@db/aeon"}, "AEON_DATABASE_URL"),
        ({"AEON_REDIS_URL": "redis://:aeon%5Fredis_dev@redis/0"}, "AEON_REDIS_URL"),
        ({"REDIS_COMMANDER_PASSWORD": "admin"}, "REDIS_COMMANDER_PASSWORD"),
        ({"AEON_SECRET": ""}, "AEON_SECRET"),
    ],
)
def test_development_passwords_are_refused_in_production(changed: dict[str, str], named: str) -> None:
    """AEO-043: set, left to their defaults, or inside of an address: they never reach production."""
    assert Settings.from_environment(SAFE).production
    with pytest.raises(BadSettings, match=named):
        Settings.from_environment({**SAFE, **changed})


def test_without_production_the_values_of_the_document_are_used() -> None:
    """AEO-043: a developer sets nothing."""
    assert Settings.from_environment({}).database_url.endswith("@postgres-dev:5432/aeon_saas_dev")


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"WORKER_TYPE": "priorty"}, "WORKER_TYPE"),
        ({"JOB_TYPES": "data_import,report"}, "JOB_TYPES"),
    ],
)
def test_a_misspelt_worker_or_job_type_is_refused_by_its_name(variables: dict[str, str], named: str) -> None:
    """AEO-012: a worker that read everything or nothing would be a silent mistake."""
    settings = Settings.from_environment(variables)
    with pytest.raises(BadSettings, match=named):
        worker.reads(settings.worker)
