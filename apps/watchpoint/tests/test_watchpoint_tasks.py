"""The catalogue of tasks, their periods and locks, and the purity of the rules."""

from __future__ import annotations

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import backstay_watchpoint.domain
from backstay_watchpoint.domain.catalogue import (
    TASKS,
    Entry,
    ReferenceTimeAhead,
    ReferenceTimeBeyond,
    UnknownTask,
    reference_time,
    task_named,
    task_of_flow,
)
from backstay_watchpoint.domain.periods import Period, lock_id, period_end, period_start

NOW = datetime(2026, 3, 18, 10, 52, 30, tzinfo=UTC)

FLOWS = [
    *("FCST-003", "FCST-004", "WPLC-009", "NOTIF-002", "NOTIF-003"),
    *("SCHED-001", "SCHED-002", "SCHED-003", "SCHED-006", "VERT-001"),
    *("MAINT-001", "MAINT-002", "MAINT-003", "MAINT-004", "MAINT-005", "MAINT-006", "MAINT-007"),
    *("OBS-005", "OBS-006", "OBS-007", "BILL-005", "BILL-011"),
]
INVENTORY = {
    "poll_data": ("15 minutes", "FCST-003"),
    "archive_watchpoints": ("15 minutes", "WPLC-009"),
    "requeue_deferred": ("15 minutes", "NOTIF-002"),
    "reconcile_forecasts": ("1 hour", "FCST-004"),
    "trigger_digests": ("1 hour", "NOTIF-003"),
    "cleanup_idempotency_keys": ("1 day", "SCHED-006"),
    "cleanup_soft_deletes": ("1 day", "MAINT-005"),
    "aggregate_usage": ("1 day", "SCHED-002"),
    "sync_stripe": ("1 day", "SCHED-003"),
    "verification": ("1 day", "OBS-005"),
    "transition_forecasts": ("1 day", "MAINT-001"),
    "cleanup_security_events": ("1 day", "MAINT-007"),
}


@pytest.mark.parametrize("flow", FLOWS)
def test_every_flow_belongs_to_a_task(flow: str) -> None:
    """WPT-054: every flow id of the document has a task."""
    assert flow in task_of_flow(flow).flows


def test_no_flow_belongs_to_two_tasks() -> None:
    """WPT-054: a flow id leads to one task."""
    flows = [flow for task in TASKS for flow in task.flows]

    assert sorted(flows) == sorted(FLOWS)


def test_the_inventory_and_the_five_others_are_there() -> None:
    """WPT-001: twelve tasks of the inventory with their periods and flows, and five more."""
    assert len(TASKS) == 17
    for name, (period, flow) in INVENTORY.items():
        task = task_named(name)
        assert task.period == period
        assert flow in task.flows


def test_only_the_poll_belongs_to_the_poller() -> None:
    """WPT-002: two entry points."""
    assert [task.name for task in TASKS if task.entry is Entry.DATA_POLLER] == ["poll_data"]


def test_an_unknown_task_is_refused_with_the_nearest_name() -> None:
    """WPT-003: an unknown task is an error that says what to do."""
    with pytest.raises(UnknownTask, match=r"no task 'agregate_usage': did you mean aggregate_usage"):
        task_named("agregate_usage")


@pytest.mark.parametrize(
    ("period", "start", "end"),
    [
        (Period.QUARTER_HOUR, "2026-03-18T10:45", "2026-03-18T11:00"),
        (Period.HOUR, "2026-03-18T10:00", "2026-03-18T11:00"),
        (Period.DAY, "2026-03-18T00:00", "2026-03-19T00:00"),
        (Period.WEEK, "2026-03-16T00:00", "2026-03-23T00:00"),
        (Period.MONTH, "2026-03-01T00:00", "2026-04-01T00:00"),
    ],
)
def test_a_period_is_the_tasks_own(period: Period, start: str, end: str) -> None:
    """WPT-004: a lock is truncated to the task's own period, not to the hour."""
    assert period_start(NOW, period) == datetime.fromisoformat(f"{start}+00:00")
    assert period_end(NOW, period) == datetime.fromisoformat(f"{end}+00:00")
    assert lock_id("t", NOW, period) == f"t:{start}Z"


def test_four_quarters_have_four_locks() -> None:
    """WPT-004: four ticks of a quarter of an hour have four locks, a doubled tick one."""
    hour = datetime(2026, 3, 18, 10, tzinfo=UTC)
    ticks = [hour + timedelta(minutes=15 * step, seconds=step) for step in range(4)]

    assert len({lock_id("poll_data", tick, Period.QUARTER_HOUR) for tick in ticks}) == 4
    assert (
        len({lock_id("poll_data", hour + timedelta(seconds=s), Period.QUARTER_HOUR) for s in (0, 899)}) == 1
    )


def test_a_reference_time_of_yesterday_is_taken_for_now() -> None:
    """WPT-003, WPT-006: a past reference time is the run's now."""
    yesterday = NOW - timedelta(days=1)

    assert reference_time(task_named("verification"), yesterday, NOW) == yesterday
    assert reference_time(task_named("verification"), None, NOW) == NOW


def test_a_reference_time_after_now_is_refused_unless_forced() -> None:
    """WPT-003: a clean-up as of next year would delete everything; a clock may be five minutes behind."""
    ahead = NOW + timedelta(minutes=5, seconds=1)
    task = task_named("cleanup_soft_deletes")

    assert reference_time(task, NOW + timedelta(minutes=5), NOW) == NOW + timedelta(minutes=5)
    with pytest.raises(ReferenceTimeAhead, match=r"after now .*: give a time that has passed, or force it"):
        reference_time(task, ahead, NOW)
    assert reference_time(task, ahead, NOW, force=True) == ahead


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+00:00", "1999-12-31T23:59:59+00:00", "2100-01-01T00:00Z"]
)
@pytest.mark.parametrize("force", [False, True])
def test_a_reference_time_of_another_century_is_refused_also_if_forced(text: str, force: bool) -> None:
    """WPT-003: a slip of whoever wrote it; no calendar reaches beyond."""
    with pytest.raises(ReferenceTimeBeyond, match="no task runs as of the year"):
        reference_time(task_named("verification"), datetime.fromisoformat(text), NOW, force=force)


FORBIDDEN_CALLS = {
    "now",
    "utcnow",
    "today",
    "monotonic",
    "perf_counter",
    "time_ns",
    "fromtimestamp",
    "localtime",
    "gmtime",
}
FORBIDDEN_IMPORTS = {
    "backstay",
    "sqlalchemy",
    "asyncpg",
    "httpx",
    "boto3",
    "stripe",
    "os",
    "socket",
    "time",
    "random",
}


@pytest.mark.parametrize(
    "path", sorted(Path(backstay_watchpoint.domain.__path__[0]).glob("*.py")), ids=lambda p: p.stem
)
def test_the_rules_ask_no_clock_and_reach_nothing_outside(path: Path) -> None:
    """WPT-007: no call of the clock and no outside module in the domain, read from its syntax tree."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asks = node.func.attr in FORBIDDEN_CALLS  # of whatever object, by whatever name it was imported
            assert not asks, f"{path.name}:{node.lineno} asks the clock"
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN_IMPORTS
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN_IMPORTS
            if (node.module or "").startswith("backstay_watchpoint"):
                assert (node.module or "").startswith("backstay_watchpoint.domain")


def test_the_page_of_tasks_is_the_catalogue() -> None:
    """WPT-054: the documentation has every task with its schedule and flows."""
    page = (Path(__file__).parent.parent / "docs" / "tasks.md").read_text()

    for task in TASKS:
        assert f"| `{task.name}` | `{task.schedule}` | {task.period} | {', '.join(task.flows)} |" in page
