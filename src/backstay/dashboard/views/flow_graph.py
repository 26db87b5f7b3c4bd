"""The graph of a flow, placed on the server: jobs in columns by what they wait for, arrows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.kit import path_of
from backstay.kit.values import Tone
from backstay.kit.words import count_of
from backstay.model.flows import DependencyRecord, FlowJob
from backstay.model.job import JobId
from backstay.model.states import State

BOX_WIDTH, BOX_HEIGHT = 168, 44
GAP_ACROSS, GAP_DOWN = 56, 18
MARGIN = 12
MOST_DRAWN = 400
LONGEST_LABEL = 22
LONGEST_NOTE = 26

STATE_TONES: dict[State, Tone] = {
    State.COMPLETED: "good",
    State.RUNNING: "info",
    State.AVAILABLE: "accent",
    State.SCHEDULED: "warn",
    State.HELD: "muted",
    State.DEAD: "bad",
    State.CANCELLED: "muted",
    State.RESOLVED: "muted",
}


@dataclass(frozen=True)
class Node:
    """A job as a box."""

    id: JobId
    x: int
    y: int
    label: str
    note: str
    title: str
    tone: Tone
    href: str


@dataclass(frozen=True)
class Arrow:
    """A dependency as a curve, as SVG's path has it."""

    path: str
    title: str
    kind: str
    """`met`, `open` or `gone`."""


@dataclass(frozen=True)
class Graph:
    """Everything that a template needs to draw a flow."""

    nodes: Sequence[Node]
    arrows: Sequence[Arrow]
    width: int
    height: int
    left_out: int = 0


def graph_of(members: Sequence[FlowJob], dependencies: Sequence[DependencyRecord]) -> Graph:
    """Place the jobs of a flow: each right of everything it waits for."""
    drawn = list(members[:MOST_DRAWN])
    known = {job.id for job in drawn}
    ties = [
        one for one in dependencies if one.dependency.job_id in known and one.dependency.parent_id in known
    ]
    columns = _columns(drawn, ties)
    places = _places(drawn, columns, ties)
    waits = waits_of(members, dependencies)
    depth = max(columns.values(), default=0) + 1
    tallest = max((row for _, row in places.values()), default=0) + 1
    return Graph(
        nodes=[_node(job, waits.get(job.id, []), *places[job.id]) for job in drawn],
        arrows=[_arrow(tie, places) for tie in ties],
        width=2 * MARGIN + depth * BOX_WIDTH + (depth - 1) * GAP_ACROSS,
        height=2 * MARGIN + tallest * BOX_HEIGHT + (tallest - 1) * GAP_DOWN,
        left_out=len(members) - len(drawn),
    )


def waits_of(members: Sequence[FlowJob], dependencies: Sequence[DependencyRecord]) -> dict[JobId, list[str]]:
    """Return what each job still waits for, by the labels of those jobs."""
    labels = {job.id: job.label or job.kind for job in members}
    waits: dict[JobId, list[str]] = {}
    for tie in dependencies:
        if tie.verdict is None:
            parent = tie.dependency.parent_id
            waits.setdefault(tie.dependency.job_id, []).append(labels.get(parent, str(parent)))
    return waits


def _columns(jobs: Sequence[FlowJob], ties: Sequence[DependencyRecord]) -> dict[JobId, int]:
    """Return the column of each job: one more than the furthest of its parents."""
    parents: dict[JobId, list[JobId]] = {job.id: [] for job in jobs}
    for tie in ties:
        parents[tie.dependency.job_id].append(tie.dependency.parent_id)
    columns = dict.fromkeys(parents, 0)
    # A flow has no circles, so no path is longer than it has jobs.
    for _ in range(len(jobs)):
        moved = False
        for job, above in parents.items():
            column = max((columns[parent] + 1 for parent in above), default=0)
            moved = moved or column != columns[job]
            columns[job] = column
        if not moved:
            break
    return columns


def _places(
    jobs: Sequence[FlowJob], columns: dict[JobId, int], ties: Sequence[DependencyRecord]
) -> dict[JobId, tuple[int, int]]:
    """Return (column, row) of each job; within a column near the rows of its parents."""
    parents: dict[JobId, list[JobId]] = {}
    for tie in ties:
        parents.setdefault(tie.dependency.job_id, []).append(tie.dependency.parent_id)
    order = {job.id: number for number, job in enumerate(jobs)}
    places: dict[JobId, tuple[int, int]] = {}
    for column in range(max(columns.values(), default=-1) + 1):
        inside = [job.id for job in jobs if columns[job.id] == column]

        def wish(job: JobId) -> tuple[float, int]:
            rows = [places[parent][1] for parent in parents.get(job, ())]
            return (sum(rows) / len(rows) if rows else order[job], order[job])

        for row, job in enumerate(sorted(inside, key=wish)):
            places[job] = (column, row)
    return places


def _corner(column: int, row: int) -> tuple[int, int]:
    return MARGIN + column * (BOX_WIDTH + GAP_ACROSS), MARGIN + row * (BOX_HEIGHT + GAP_DOWN)


def _node(job: FlowJob, waits: Sequence[str], column: int, row: int) -> Node:
    x, y = _corner(column, row)
    label = job.label or job.kind
    told = [f"{label} ({job.kind})" if job.label else label, job.state.value]
    return Node(
        id=job.id,
        x=x,
        y=y,
        label=_cut(label, LONGEST_LABEL),
        note=_cut(_note(job, waits), LONGEST_NOTE),
        title="\n".join([*told, f"waits for {', '.join(waits)}" if waits else job.reason or ""]).strip(),
        tone=STATE_TONES[job.state],
        href=path_of("jobs", job.id),
    )


def _note(job: FlowJob, waits: Sequence[str]) -> str:
    """Say in a few words how a job stands, and what it waits for."""
    if waits:
        return f"waits for {waits[0] if len(waits) == 1 else count_of(len(waits), 'job')}"
    return job.reason or job.state.value if job.state is State.HELD else job.state.value


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _arrow(tie: DependencyRecord, places: dict[JobId, tuple[int, int]]) -> Arrow:
    start_x, start_y = _corner(*places[tie.dependency.parent_id])
    end_x, end_y = _corner(*places[tie.dependency.job_id])
    start_x, start_y, end_y = start_x + BOX_WIDTH, start_y + BOX_HEIGHT // 2, end_y + BOX_HEIGHT // 2
    bend = max(24, (end_x - start_x) // 2)
    condition = f" if {tie.dependency.condition}" if tie.dependency.condition else ""
    verdict = tie.verdict.value if tie.verdict else ""
    return Arrow(
        path=f"M{start_x} {start_y}C{start_x + bend} {start_y} {end_x - bend} {end_y} {end_x} {end_y}",
        title=f"{tie.dependency.type.value}{condition}: {verdict or 'waiting'}",
        kind="open" if not verdict else "met" if verdict in ("met", "run") else "gone",
    )
