"""The day strip: for each task and hour, what should have run and what did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

HOUR = timedelta(hours=1)


class Cell(StrEnum):
    """What one task did in one hour, the worst first."""

    FAILED = "failed"
    MISSING = "missing"
    BRAKED = "braked"
    RUNNING = "running"
    BACK_FILLED = "back-filled"
    DONE = "done"
    SKIPPED = "skipped"
    DUE = "due"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class RunSeen:
    """One run of a task, by the time that it took for now."""

    task: str
    reference_time: datetime
    status: str
    items: int = 0
    is_back_fill: bool = False


@dataclass(frozen=True, slots=True)
class StripCell:
    """One cell: its colour, how many fires were expected, how many runs there were and what they handled."""

    cell: Cell
    expected: int = 0
    runs: int = 0
    items: int = 0
    cells: tuple[Cell, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class StripRow:
    """One task's day."""

    task: str
    cells: tuple[StripCell, ...]


def day_strip(
    day: datetime,
    expected: Mapping[str, Sequence[datetime]],
    runs: Iterable[RunSeen],
    *,
    now: datetime,
    grace: timedelta,
    since: datetime | None = None,
) -> list[StripRow]:
    """Lay a day out as tasks by hours; `day` is its first moment, `expected` each task's fires.

    Fires before `since`, when the platform was installed, are missed by nobody.
    """
    expected = {
        task: [fire for fire in fires if since is None or fire >= since] for task, fires in expected.items()
    }
    by_fire: dict[tuple[str, datetime], list[RunSeen]] = {}
    by_hour: dict[tuple[str, int], list[RunSeen]] = {}
    for run in runs:
        by_fire.setdefault((run.task, run.reference_time), []).append(run)
        by_hour.setdefault((run.task, int((run.reference_time - day) // HOUR)), []).append(run)
    rows = []
    for task, fires in expected.items():
        cells = []
        for hour in range(24):
            start = day + hour * HOUR
            due = [fire for fire in fires if start <= fire < start + HOUR]
            states = [_cell_of(by_fire.get((task, fire), []), fire, now=now, grace=grace) for fire in due]
            extra = [run for run in by_hour.get((task, hour), []) if run.reference_time not in due]
            states += [_cell_of([run], run.reference_time, now=now, grace=grace) for run in extra]
            cells.append(_hour_cell(states, len(due), by_hour.get((task, hour), [])))
        rows.append(StripRow(task, tuple(cells)))
    return rows


def _hour_cell(states: list[Cell], expected: int, runs: list[RunSeen]) -> StripCell:
    worst = min(states, key=list(Cell).index, default=Cell.IDLE)
    return StripCell(worst, expected, len(runs), sum(run.items for run in runs), tuple(states))


def _cell_of(runs: Sequence[RunSeen], fire: datetime, *, now: datetime, grace: timedelta) -> Cell:
    """Return what became of one fire: a success counts, whatever else was tried."""
    if not runs:
        return Cell.DUE if fire + grace > now else Cell.MISSING
    statuses = {run.status for run in runs}
    if "success" in statuses:
        good = [run for run in runs if run.status == "success"]
        return Cell.BACK_FILLED if all(run.is_back_fill for run in good) else Cell.DONE
    for status, cell in (("running", Cell.RUNNING), ("braked", Cell.BRAKED), ("skipped", Cell.SKIPPED)):
        if status in statuses:
            return cell
    return Cell.FAILED
