"""What three witnesses say: the producer, the handlers and the database. Imports nothing of what is judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg


@dataclass(frozen=True, slots=True)
class Call:
    """One enqueue as its caller saw it; the outcome is ok, refused, unknown, or open when no answer was written."""

    n: int
    kind: str
    key: str | None
    outcome: str
    job_id: str | None


@dataclass(frozen=True, slots=True)
class Line:
    """One fact that a handler wrote down: a run has started, or has had its effect."""

    what: str
    job_id: str
    run: int
    pid: int
    at: float


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one job, noted in its transaction."""

    job_id: str
    from_state: str | None
    to_state: str
    from_epoch: int | None
    to_epoch: int
    settled_epoch: int | None
    is_rescuers: bool
    run: int
    attempt: int
    worker: str | None
    worker_state: str | None
    lease: timedelta | None
    lease_expires_at: datetime | None
    run_at: datetime
    at: datetime
    database_started: datetime

    @property
    def is_claim(self) -> bool:
        return self.from_state != "running" and self.to_state == "running"

    @property
    def is_takeover(self) -> bool:
        return self.from_state == "running" and self.to_state == "running"

    @property
    def is_exit(self) -> bool:
        return self.from_state == "running" and self.to_state != "running"


@dataclass(frozen=True, slots=True)
class Row:
    """One job as it is at the end."""

    id: str
    kind: str
    n: int
    state: str
    reason: str | None
    epoch: int
    settled_epoch: int | None
    run: int
    attempt: int
    max_attempts: int | None
    result: Mapping[str, Any] | None
    key: str | None


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt that did not complete its job."""

    job_id: str
    epoch: int
    run: int
    status: str


@dataclass(frozen=True)
class Evidence:
    """Everything there is to judge."""

    calls: list[Call]
    lines: list[Line]
    events: list[Event]
    rows: list[Row]
    tried: list[Tried]
    letters: list[tuple[str, int]]
    effects: list[tuple[str, int]]
    permits: int = 0
    ties: list[tuple[str, str]] = field(default_factory=list)
    """Which job waits for which other one."""
    fires: list[tuple[float, str]] = field(default_factory=list)
    """When the schedule of the run has fired, and the job that came of it."""
    transactional: frozenset[str] = frozenset()
    faults: list[Mapping[str, Any]] = field(default_factory=list)
    told: Mapping[str, int] = field(default_factory=dict)

    def by_job(self) -> dict[str, list[Event]]:
        """The events of each job, in order."""
        found: dict[str, list[Event]] = {}
        for event in self.events:
            found.setdefault(event.job_id, []).append(event)
        return found


async def collect(url: str, folder: Path, *, transactional: frozenset[str] = frozenset()) -> Evidence:
    """Read the journals of a run."""
    connection = await asyncpg.connect(url)
    try:
        await connection.set_type_codec("json", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        events = await connection.fetch("SELECT * FROM chaos.events ORDER BY seq")
        jobs = await connection.fetch("SELECT * FROM backstay.jobs")
        tried = await connection.fetch("SELECT job_id, lease_epoch, run, status FROM backstay.attempts")
        letters = await connection.fetch("SELECT job_id, lease_epoch FROM backstay.dead_letters")
        effects = await connection.fetch("SELECT job_id, run FROM chaos.effects")
        permits = await connection.fetchval("SELECT count(*) FROM backstay.permits")
        ties = await connection.fetch("SELECT job_id, parent_id FROM backstay.dependencies")
        fires = await connection.fetch("SELECT fire_time, job_id FROM backstay.fires ORDER BY fire_time")
    finally:
        await connection.close()
    return Evidence(
        calls=list(read_calls(folder / "calls")),
        lines=[line for path in sorted(folder.glob("runs-*")) for line in read_lines(path)],
        events=[_event(row) for row in events],
        rows=[_row(row) for row in jobs],
        tried=[Tried(str(row[0]), row[1], row[2], row[3]) for row in tried],
        letters=[(str(row[0]), row[1]) for row in letters],
        effects=[(str(row[0]), row[1]) for row in effects],
        permits=permits,
        ties=[(str(row[0]), str(row[1])) for row in ties],
        fires=[(row[0].timestamp(), str(row[1])) for row in fires],
        transactional=transactional,
        faults=[json.loads(line) for line in whole_lines(folder / "faults")],
        told=_count_told(folder),
    )


def read_calls(path: Path) -> Iterator[Call]:
    """Every call with its answer; a repeated call of the same number is a call of its own."""
    waiting: dict[int, list[tuple[str, str | None]]] = {}
    for line in map(json.loads, whole_lines(path)):
        if "calls" in line:
            for n in line["calls"]:
                waiting.setdefault(n, []).append((line["kind"], line["key"]))
            continue
        for n, job_id in zip(line["answers"], line["ids"] or [None] * len(line["answers"]), strict=True):
            kind, key = waiting[n].pop()
            yield Call(n, kind, key, line["outcome"], job_id)
    for n, left in waiting.items():
        for kind, key in left:
            yield Call(n, kind, key, "open", None)


def read_lines(path: Path) -> Iterator[Line]:
    """What the handlers of one process wrote down."""
    for line in whole_lines(path):
        what, job_id, run, pid, at = line.split()
        yield Line(what, job_id, int(run), int(pid), float(at))


def whole_lines(path: Path) -> list[str]:
    """The lines that are written to their end."""
    if not path.exists():
        return []
    text = path.read_text()
    return text[: text.rfind("\n") + 1].splitlines()


def _event(row: Any) -> Event:
    return Event(
        str(row["job_id"]),
        row["from_state"],
        row["to_state"],
        row["from_epoch"],
        row["to_epoch"],
        row["settled_epoch"],
        row["is_rescuers"],
        row["run"],
        row["attempt"],
        row["worker"],
        row["worker_state"],
        row["lease"],
        row["lease_expires_at"],
        row["run_at"],
        row["at"],
        row["database_started"],
    )


def _row(row: Any) -> Row:
    return Row(
        str(row["id"]),
        row["kind"],
        row["args"]["n"],
        row["state"],
        row["reason"],
        row["lease_epoch"],
        row["settled_epoch"],
        row["run"],
        row["attempt"],
        row["max_attempts"],
        row["result"],
        row["idempotency_key"],
    )


def _count_told(folder: Path) -> dict[str, int]:
    """How often the workers told of each of their events; nothing is judged by it but whether it happened at all."""
    counts: dict[str, int] = {}
    for path in folder.glob("events-*"):
        for line in whole_lines(path):
            name = json.loads(line)["event"]
            counts[name] = counts.get(name, 0) + 1
    return counts
