"""What happened to every job, as triggers of the database write it down, and the rules for every step."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

COLUMNS = (
    "state", "reason", "attempt", "max_attempts", "run", "crashes", "is_suspect", "lease_epoch", "settled_epoch",
    "worker", "claim_id", "lease", "timeout", "started_at", "run_at", "updated_at", "result", "cancel_requested_at",
    "deadline", "kind", "args", "order_key", "created_at",
)  # fmt: skip

WAITING = {"scheduled", "held", "available"}
FINAL = {"completed", "resolved", "cancelled"}
ENDED = FINAL | {"dead"}
# Written down here a second time on purpose: what judges the library must not take its word for it.
ARROWS = {
    (None, "scheduled"), (None, "held"), (None, "available"),
    ("scheduled", "available"), ("scheduled", "held"), ("scheduled", "cancelled"), ("scheduled", "dead"),
    ("held", "available"), ("held", "scheduled"), ("held", "cancelled"), ("held", "dead"),
    ("available", "running"), ("available", "scheduled"), ("available", "held"), ("available", "cancelled"),
    ("available", "dead"),
    ("running", "scheduled"), ("running", "held"), ("running", "available"), ("running", "completed"),
    ("running", "dead"), ("running", "cancelled"),
    ("dead", "available"), ("dead", "scheduled"), ("dead", "resolved"),
}  # fmt: skip


class Violation(AssertionError):
    """A promise was broken; `job` is the id of the job it was broken for, where there is one."""

    def __init__(self, rule: str, message: str, job: str | None = None) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule, self.job = rule, job


@dataclass(frozen=True, slots=True)
class Change:
    """One row before and after one statement."""

    job: str
    old: dict[str, Any] | None
    new: dict[str, Any]


def watch(connection: sqlite3.Connection) -> None:
    """Let the database keep a history of its own, in the transactions that make it."""
    new = ", ".join(f"NEW.{column}" for column in COLUMNS)
    old = ", ".join(f"OLD.{column}" for column in COLUMNS)
    nothing = ", ".join("NULL" for _ in COLUMNS)
    names = ", ".join([f"old_{column}" for column in COLUMNS] + [f"new_{column}" for column in COLUMNS])
    connection.execute(f"CREATE TABLE sim_history (seq integer PRIMARY KEY, job, {names})")
    for verb, before in (("INSERT", nothing), ("UPDATE", old)):
        connection.execute(
            f"CREATE TRIGGER sim_{verb} AFTER {verb} ON backstay_jobs BEGIN "
            f"INSERT INTO sim_history (job, {names}) VALUES (NEW.id, {before}, {new}); END"
        )
    connection.execute(
        "CREATE TRIGGER sim_delete AFTER DELETE ON backstay_jobs BEGIN "
        "INSERT INTO sim_history (job, old_state) VALUES (OLD.id, OLD.state); END"
    )


def take(connection: sqlite3.Connection) -> list[Change]:
    """The changes since the last call."""
    found = connection.execute("SELECT * FROM sim_history ORDER BY seq").fetchall()
    if found:
        connection.execute("DELETE FROM sim_history")
    width = len(COLUMNS)
    changes = []
    for row in found:
        values = tuple(row)[2:]
        old = dict(zip(COLUMNS, values[:width], strict=True)) if values[0] is not None else None
        changes.append(Change(row["job"], old, dict(zip(COLUMNS, values[width:], strict=True))))
    return changes


@dataclass
class Holding:
    """A claim as the judge saw it given out."""

    epoch: int
    worker: str
    kept_at: float
    claimed_at: float


@dataclass
class Judge:
    """Looks at every committed change and at what handlers say; raises Violation."""

    now: Callable[[], float]
    is_excused: Callable[[Holding, str], bool]
    """Whether a holder had a reason not to renew, or the process that took over a reason to believe so."""
    max_crashes: int
    age: Callable[[int], float]
    """How many seconds ago a time of the database is, by its clock of now."""
    holdings: dict[str, Holding] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    returned: dict[tuple[str, int], str] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    rooms: dict[str, dict[str, tuple[int, str]]] = field(default_factory=lambda: defaultdict(dict))
    """The jobs of each line that have not ended, and of each room those that run."""

    def see(self, change: Change, statement: str, by: str) -> None:
        """Judge one change, made by a process."""
        old, new, job = change.old, change.new, change.job
        if new["state"] is None:
            raise Violation("nothing lost", f"the row was deleted by {statement}", job)
        before = old["state"] if old else None
        if before != new["state"]:
            self._moved(change, before, statement)
        elif before == "running":
            self._still_running(change, by)
        elif before in ENDED and old != new:
            # A closed job may be noted upon, never changed.
            raise Violation("one outcome", f"{statement} changed a job that is {before}", job)
        self._counts(change, statement)
        self._limits(change)

    def _limits(self, change: Change) -> None:
        """One at a time in a room, and the oldest of a line first; both written down from what the rows say."""
        new, job = change.new, change.job
        if new["kind"] == "alone":
            here = self.rooms[f"room {json.loads(new['args'])['room']}"]
            is_in = new["state"] == "running"
        elif new["kind"] == "queued":
            here = self.rooms[f"line {new['order_key']}"]
            is_in = new["state"] not in ENDED
        else:
            return
        if is_in:
            here[job] = (new["created_at"], job)
        else:
            here.pop(job, None)
        if new["kind"] == "alone" and len(here) > 1:
            raise Violation("permits", f"{len(here)} run at the same time in a room for one", job)
        if change.old is not None and change.old["state"] != "running" and new["state"] == "running":
            self.counters[f"limited {new['kind']}"] += 1
            if new["kind"] == "queued" and min(here.values()) != here[job]:
                raise Violation("order", "it started before an older job of its line", job)

    def _moved(self, change: Change, before: str | None, statement: str) -> None:
        old, new, job = change.old, change.new, change.job
        after = new["state"]
        if (before, after) not in ARROWS:
            raise Violation("legal moves", f"{statement} moved it from {before} to {after}", job)
        if before in FINAL:
            raise Violation("one outcome", f"{statement} moved it out of {before}", job)
        if after == "running":
            self._claimed(change)
        elif before == "running":
            self._left(change)
        if before == "scheduled" and after == "available" and new["run_at"] > new["updated_at"]:
            early = (new["run_at"] - new["updated_at"]) / 1e6
            raise Violation("not too early", f"{statement} made it available {early:.3f} s early", job)
        if after == "completed":
            self._completed(change)
        if after == "dead":
            self._died(change)
        if old is not None and before != "running" and after != "running":
            self._same(change, "lease_epoch", statement)

    def _claimed(self, change: Change) -> None:
        old, new, job = change.old, change.new, change.job
        assert old is not None
        if new["lease_epoch"] != old["lease_epoch"] + 1 or new["lease_epoch"] % 2 == 0:
            raise Violation(
                "fence", f"a claim took the epoch from {old['lease_epoch']} to {new['lease_epoch']}", job
            )
        if job in self.holdings:
            raise Violation("two leases", f"claimed while {self.holdings[job].worker} holds it", job)
        if new["cancel_requested_at"] is not None:
            raise Violation("cancelled stays", "claimed although its cancel was accepted", job)
        if (new["attempt"], new["run"]) != (old["attempt"] + 1, old["run"] + 1):
            raise Violation(
                "attempts", f"a claim took the attempt from {old['attempt']} to {new['attempt']}", job
            )
        # By the database's clock it may be older: a claim of several statements can be overtaken by a jump of it.
        claimed_at = self.now() - max(0.0, self.age(new["started_at"]))
        self.holdings[job] = Holding(new["lease_epoch"], new["worker"], self.now(), claimed_at)
        self.counters["claims"] += 1

    def _still_running(self, change: Change, by: str) -> None:
        old, new, job = change.old, change.new, change.job
        assert old is not None
        step = new["lease_epoch"] - old["lease_epoch"]
        if step == 0:
            if new["claim_id"] != old["claim_id"]:
                raise Violation("two leases", "it changed hands without a new epoch", job)
            if (
                new["updated_at"] != old["updated_at"]
                and new["cancel_requested_at"] == old["cancel_requested_at"]
            ):
                self.holdings[job].kept_at = self.now()
            return
        if step != 2 or new["claim_id"] is not None:
            raise Violation("fence", f"the epoch rose by {step} while it ran", job)
        self._taken_over(change, by)

    def _taken_over(self, change: Change, by: str) -> None:
        old, job = change.old, change.job
        assert old is not None
        held, now = self.holdings[job], self.now()
        unheard = now - held.kept_at
        overran = old["claim_id"] is not None and now - held.claimed_at > old["timeout"] / 1e6
        too_late = old["deadline"] is not None and old["deadline"] < change.new["updated_at"]
        if not (overran or too_late or self.is_excused(held, by)):
            raise Violation(
                "false rescue",
                f"taken from {held.worker}, which lives and kept its lease {unheard:.1f} s ago",
                job,
            )
        self.holdings[job] = Holding(change.new["lease_epoch"], held.worker, now, held.claimed_at)
        self.counters["takeovers"] += 1

    def _left(self, change: Change) -> None:
        old, new, job = change.old, change.new, change.job
        assert old is not None
        if new["lease_epoch"] != old["lease_epoch"] + 1 or new["settled_epoch"] != old["lease_epoch"]:
            raise Violation(
                "fence", f"it left its claim by epoch {old['lease_epoch']} → {new['lease_epoch']}", job
            )
        refund = old["attempt"] - new["attempt"]
        if refund not in (0, 1) or (refund and new["state"] in ENDED):
            raise Violation("attempts", f"{refund} attempts were given back", job)
        if new["run"] != old["run"]:
            raise Violation("attempts", "the number of runs changed at its end", job)
        self.holdings.pop(job, None)

    def _completed(self, change: Change) -> None:
        new, job = change.new, change.job
        told = json.loads(new["result"])
        if told["run"] != new["run"]:
            raise Violation(
                "late results", f"run {told['run']} completed it, but run {new['run']} holds it", job
            )
        if self.returned.get((job, new["run"])) != told["by"]:
            raise Violation("one outcome", f"no handler of run {new['run']} returned this result", job)
        self.ended[job] = "completed"

    def _died(self, change: Change) -> None:
        new, job = change.new, change.job
        if new["reason"] == "exhausted" and new["attempt"] < new["max_attempts"]:
            raise Violation(
                "attempts", f"given up after {new['attempt']} of {new['max_attempts']} attempts", job
            )
        if new["reason"] == "crash loop" and new["crashes"] != self.max_crashes:
            raise Violation("crash budget", f"given up after {new['crashes']} crashes", job)

    def _counts(self, change: Change, statement: str) -> None:
        old, new, job = change.old, change.new, change.job
        if (new["lease_epoch"] % 2 == 1) is not (new["state"] == "running"):
            raise Violation("fence", f"epoch {new['lease_epoch']} while {new['state']}", job)
        if old is None:
            return
        if new["lease_epoch"] < old["lease_epoch"] or new["run"] < old["run"]:
            raise Violation("fence", f"{statement} took the epoch or the runs back", job)
        if new["max_attempts"] is not None and new["attempt"] > new["max_attempts"]:
            raise Violation("attempts", f"attempt {new['attempt']} of {new['max_attempts']}", job)
        more = new["crashes"] - old["crashes"]
        if more > 0 and not (more == 1 and old["is_suspect"] and old["state"] == "running"):
            raise Violation("crash budget", f"{statement} counted {more} crashes of no suspect", job)
        if new["crashes"] > self.max_crashes:
            raise Violation("crash budget", f"{new['crashes']} crashes of {self.max_crashes}", job)

    def _same(self, change: Change, column: str, statement: str) -> None:
        assert change.old is not None
        if change.old[column] != change.new[column]:
            raise Violation("fence", f"{statement} changed {column} of a job that did not run", change.job)
