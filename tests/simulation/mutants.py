"""Mistakes that somebody could make, each planted for a run; a simulation that misses one proves little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from backstay.errors import StoreUnavailable
from backstay.model import settlement
from backstay.stores import schedules
from backstay.stores.database.queries import Dialect, statement_text

Mutate = Callable[[Dialect], None]


@dataclass(frozen=True)
class Mutant:
    """One mistake: a query with another text, or a function in the place of one."""

    name: str
    query: str = ""
    old: str = ""
    new: str = ""
    target: str = ""
    function: Any = None

    @contextmanager
    def planted(self) -> Iterator[Mutate | None]:
        """The mistake, for as long as the block lasts."""
        if self.query:
            yield self._rewrite
            return
        with patch(self.target, self.function):
            yield None

    def _rewrite(self, dialect: Dialect) -> None:
        text = statement_text(dialect.name, self.query)
        assert text.count(self.old) == 1, f"{self.name}: {self.query} has changed, and so must this mutant"
        dialect._statements[self.query] = dialect._prepare(self.query, text.replace(self.old, self.new))


def _trusting(*_: object, **__: object) -> None:
    """Find no reason to distrust a clock."""


def _count_every_crash(claim: Any, outcome: Any, policy: Any, **facts: Any) -> Any:
    return _after_crash(claim._replace(is_suspect=True), outcome, policy, **facts)


_after_crash = settlement._after_crash


async def _give_up_at_once(act: Any, **_: Any) -> Any:
    """Take a lost reply for a failure."""
    try:
        return await act()
    except StoreUnavailable as error:
        raise StoreUnavailable(str(error), was_sent=False) from error


async def _forget(*_: object) -> None:
    """Take no permits over."""


async def _count_one_down(connection: Any, concerned: Any, effects: Any) -> list[Any]:
    """Take one telling of a parent's end for one parent less, whichever it was."""
    for child in concerned:
        if not await connection.fetch("flows/ended", ids=[child]):
            continue
        found = await connection.fetch("flows/of_job", id=child)
        still = [row for row in found if row["verdict"] is None and str(row["job_id"]) == str(child)]
        for row in still[:1]:
            tie = {name: row[name] for name in ("job_id", "parent_id", "place")}
            await connection.fetch_each("flows/decide", [{**tie, "decided": "met"}])
        if len(still) == 1:
            released = await connection.fetch_each("jobs/release", [{"job_id": child}])
            effects.queues |= {row["queue"] for row in released}
    return []


async def _sweep_nothing(*_: Any, **__: Any) -> None:
    """Leave to chance whether an end is followed."""


async def _mark_then_insert(self: Any, schedule: Any, plan: Any, jobs: Any) -> Any:
    """Move a schedule on first, and store its jobs afterwards."""
    moved = await self.lane.fetch(
        "schedules/advance",
        id=schedule.id,
        version=schedule.version,
        due=schedule.next_fire_at,
        next_fire_at=plan.next_fire_at,
        last_fire_at=plan.fires[-1].fire_time if plan.fires else None,
        missed=plan.dropped,
    )
    if not moved:
        return None
    async with self.lane.transaction() as connection:
        return await schedules._fire(
            connection, schedule, plan.fires, jobs, trigger="schedule", actor="scheduler"
        )


MUTANTS = (
    Mutant("settle without the epoch", "jobs/settle", "\n  AND job.lease_epoch = given.epoch", ""),
    Mutant("complete without the epoch", "jobs/complete", "\n  AND job.lease_epoch = given.epoch", ""),
    Mutant(
        "claim that raises no epoch",
        "jobs/claim",
        "lease_epoch = job.lease_epoch + 1",
        "lease_epoch = job.lease_epoch",
    ),
    Mutant(
        "claim of many suspects",
        "jobs/claim",
        "LIMIT :suspects\n    )\n    LIMIT :suspects",
        "LIMIT :limit\n    )\n    LIMIT :limit",
    ),
    Mutant("take-over that raises no epoch", "jobs/seize", "job.lease_epoch + 2", "job.lease_epoch"),
    Mutant(
        "rescue without looking at the lease",
        "jobs/expired",
        "    lease_expires_at < clock.at\n    OR",
        "    TRUE\n    OR",
    ),
    Mutant(
        "rescue that trusts every clock",
        target="backstay.maintenance.rescuer.why_distrust",
        function=_trusting,
    ),
    Mutant("promotion a second too early", "jobs/promote", "run_at <= {now}", "run_at <= {now} + 1000000"),
    Mutant(
        "promotion of all but the last",
        "jobs/promote",
        "AND run_at <= {now}",
        "AND run_at <= {now}\n      AND id < (SELECT max(id) FROM backstay.jobs WHERE state = 'scheduled')",
    ),
    Mutant(
        "refund given twice",
        "jobs/settle",
        "job.attempt - given.refund",
        "max(job.attempt - 2 * given.refund, 0)",
    ),
    Mutant("refund never given", "jobs/settle", "job.attempt - given.refund", "job.attempt"),
    Mutant(
        "retry in spite of a cancel",
        "jobs/apply_cancel_request",
        "job.cancel_requested_at IS NOT NULL",
        "FALSE",
    ),
    Mutant(
        "permits kept as a counter, which every settlement counts down",
        "permits/drop",
        "(limit_key, job_id, lease_epoch) IN (\n    SELECT given.limit_key, given.job_id, given.epoch\n",
        "limit_key IN (\n    SELECT given.limit_key\n",
    ),
    Mutant("permits that nobody has to hold", "permits/take", "WHERE TRUE", "WHERE FALSE"),
    Mutant(
        "take-over without the permits", target="backstay.stores.claims.claims.take_permits", function=_forget
    ),
    Mutant("unparking that never comes", "limits/unpark", "LIMIT :room", "LIMIT 0"),
    Mutant(
        "the newest of a line first", "limits/heads", "job.created_at, job.id", "job.created_at DESC, job.id"
    ),
    Mutant(
        "child released with its first parent",
        "flows/open_dependencies",
        "WHERE open.job_id = job.id\n          AND COALESCE(open.verdict, '') = ''",
        "WHERE FALSE",
    ),
    Mutant("parents counted down", target="backstay.stores.dependents._decide", function=_count_one_down),
    Mutant(
        "ends that nobody followed are left",
        target="backstay.maintenance.dependents_sweeper.DependentsSweeper.sweep",
        function=_sweep_nothing,
    ),
    Mutant(
        "mark-then-insert cron",
        target="backstay.stores.schedules.ScheduleStore.fire",
        function=_mark_then_insert,
    ),
    Mutant("wait whose time is never over", "signals/late", "WHERE wait.is_open", "WHERE FALSE"),
    Mutant(
        "timeout that is forgotten by the next run",
        "signals/time_out",
        "CASE WHEN given.is_over THEN clock.at END",
        "NULL",
    ),
    Mutant("death without a letter", "dead_letters/record", "WHERE TRUE", "WHERE FALSE"),
    Mutant(
        "crash counted against everybody",
        target="backstay.model.settlement._after_crash",
        function=_count_every_crash,
    ),
    Mutant(
        "lost reply taken for a failure",
        target="backstay.client.client.until_certain",
        function=_give_up_at_once,
    ),
)
