"""The seventeen tasks: schedule, period, flow ids, and what each may destroy."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from backstay_watchpoint.domain.periods import Period


class Entry(StrEnum):
    """The two entry points: polling is bound by the network, maintenance by the database."""

    DATA_POLLER = "DataPoller"
    ARCHIVER = "Archiver"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task as operators know it."""

    name: str
    schedule: str
    period: Period
    flows: tuple[str, ...]
    description: str
    entry: Entry = Entry.ARCHIVER
    is_destructive: bool = False


class UnknownTask(ValueError):
    """No task has this name."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, BY_NAME, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(BY_NAME)}"
        super().__init__(f"no task {name!r}: {hint}")
        self.name = name


POLL_DATA = "poll_data"

TASKS: tuple[TaskSpec, ...] = (
    TaskSpec(
        POLL_DATA,
        "rate(15 minutes)",
        Period.QUARTER_HOUR,
        ("FCST-003",),
        "Looks for new model runs in the NOAA buckets and starts their inference.",
        entry=Entry.DATA_POLLER,
    ),
    TaskSpec(
        "archive_watchpoints",
        "rate(15 minutes)",
        Period.QUARTER_HOUR,
        ("WPLC-009", "OBS-007"),
        "Archives watchpoints whose event has passed and asks for their summaries.",
    ),
    TaskSpec(
        "requeue_deferred",
        "rate(15 minutes)",
        Period.QUARTER_HOUR,
        ("NOTIF-002",),
        "Sends notifications whose quiet hours are over.",
    ),
    TaskSpec(
        "reconcile_forecasts",
        "rate(1 hour)",
        Period.HOUR,
        ("FCST-004",),
        "Cancels, resubmits or closes forecast runs that take too long.",
    ),
    TaskSpec(
        "trigger_digests",
        "rate(1 hour)",
        Period.HOUR,
        ("NOTIF-003",),
        "Asks for the digests that are due in their organisations' local time.",
    ),
    TaskSpec(
        "sync_stripe",
        "cron(0 0 * * ? *)",
        Period.DAY,
        ("SCHED-003",),
        "Compares plans and statuses with Stripe and repairs missing customers.",
    ),
    TaskSpec(
        "aggregate_usage",
        "cron(0 1 * * ? *)",
        Period.DAY,
        ("SCHED-001", "SCHED-002", "VERT-001"),
        "Moves yesterday's counters into the usage history and checks plan limits.",
    ),
    TaskSpec(
        "enforce_payment_failure",
        "cron(30 1 * * ? *)",
        Period.DAY,
        ("BILL-005",),
        "Pauses the watchpoints of organisations that have not paid for seven days.",
    ),
    TaskSpec(
        "enforce_overage",
        "cron(45 1 * * ? *)",
        Period.DAY,
        ("BILL-011",),
        "Pauses the watchpoints beyond the plan after fourteen days of overage.",
    ),
    TaskSpec(
        "cleanup_soft_deletes",
        "cron(0 2 * * ? *)",
        Period.DAY,
        ("MAINT-005", "MAINT-002", "MAINT-006"),
        "Deletes organisations, invites and archived watchpoints whose time is over.",
        is_destructive=True,
    ),
    TaskSpec(
        "cleanup_idempotency_keys",
        "cron(0 3 * * ? *)",
        Period.DAY,
        ("SCHED-006",),
        "Deletes idempotency keys that have expired.",
        is_destructive=True,
    ),
    TaskSpec(
        "verification",
        "cron(0 3 * * ? *)",
        Period.DAY,
        ("OBS-005",),
        "Has forecasts of the day before compared with what was observed.",
    ),
    TaskSpec(
        "transition_forecasts",
        "cron(0 4 * * ? *)",
        Period.DAY,
        ("MAINT-001",),
        "Deletes the stored output of old forecasts.",
        is_destructive=True,
    ),
    TaskSpec(
        "cleanup_security_events",
        "cron(0 5 * * ? *)",
        Period.DAY,
        ("MAINT-007",),
        "Deletes security events older than seven days.",
        is_destructive=True,
    ),
    TaskSpec(
        "update_calibration",
        "cron(0 6 ? * MON *)",
        Period.WEEK,
        ("OBS-006",),
        "Has the nowcast's coefficients fitted anew to recent observations.",
    ),
    TaskSpec(
        "purge_notifications",
        "cron(30 2 1 * ? *)",
        Period.MONTH,
        ("MAINT-003",),
        "Deletes notifications older than a year, finished deliveries and old records of its own.",
        is_destructive=True,
    ),
    TaskSpec(
        "archive_audit_logs",
        "cron(45 2 1 * ? *)",
        Period.MONTH,
        ("MAINT-004",),
        "Moves audit records older than two years to cold storage.",
        is_destructive=True,
    ),
)

BY_NAME: dict[str, TaskSpec] = {task.name: task for task in TASKS}


def tasks_ticking(digest_tick: str) -> tuple[TaskSpec, ...]:
    """Return the tasks, with digests looked for every hour (`1h`) or every quarter of one (`15m`)."""
    if digest_tick == "1h":
        return TASKS
    quarterly = replace(BY_NAME["trigger_digests"], schedule="rate(15 minutes)", period=Period.QUARTER_HOUR)
    return tuple(quarterly if task.name == quarterly.name else task for task in TASKS)


def task_named(name: str, tasks: tuple[TaskSpec, ...] = TASKS) -> TaskSpec:
    """Return a task by its name; raises UnknownTask with the nearest names."""
    for task in tasks:
        if task.name == name:
            return task
    raise UnknownTask(name)


def task_of_flow(flow: str) -> TaskSpec:
    """Return the task that covers a flow; raises UnknownTask."""
    for task in TASKS:
        if flow in task.flows:
            return task
    raise UnknownTask(flow)


CLOCK_TOLERANCE = timedelta(minutes=5)
"""A fire bears the database's time, and a worker's clock may be behind it."""


EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
"""What lies outside is a mistake of whoever wrote it, and no calendar goes far beyond."""


class BadReferenceTime(ValueError):
    """No run can be as of this time."""


class ReferenceTimeBeyond(BadReferenceTime):
    """The reference time lies in another century."""

    def __init__(self, reference_time: datetime) -> None:
        super().__init__(
            f"no task runs as of the year {reference_time.year}: give a time from {EARLIEST.year} on, "
            f"before {LATEST.year}"
        )
        self.reference_time = reference_time


class ReferenceTimeAhead(BadReferenceTime):
    """The reference time lies after now: a clean-up would delete what is still wanted."""

    def __init__(self, task: str, reference_time: datetime, now: datetime) -> None:
        super().__init__(
            f"{task} was asked to run as of {reference_time:%Y-%m-%dT%H:%M:%SZ}, which is after now "
            f"({now:%Y-%m-%dT%H:%M:%SZ}): give a time that has passed, or force it"
        )
        self.task, self.reference_time, self.now = task, reference_time, now


def reference_time(task: TaskSpec, asked: datetime | None, now: datetime, *, force: bool = False) -> datetime:
    """Return the time that a run takes for now.

    Raises ReferenceTimeBeyond, and ReferenceTimeAhead unless the run is forced.
    """
    if asked is None:
        return now.astimezone(UTC)
    if not EARLIEST <= asked < LATEST:
        raise ReferenceTimeBeyond(asked)
    if asked > now + CLOCK_TOLERANCE and not force:
        raise ReferenceTimeAhead(task.name, asked.astimezone(UTC), now.astimezone(UTC))
    return asked.astimezone(UTC)
