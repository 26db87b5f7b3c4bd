"""Random flows while workers are killed: every job ends as its picture says, none starts too early or waits forever.

What must become of each job is reckoned here, by rules of the test's own.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support import Workshop, eventually, workshop

from backstay import FlowNode
from backstay.options import NO_OPTIONS
from backstay.records import DeadLetterFilter

AT_ONCE = 20
KILL_EVERY = 1.5
ENDS = {"completed", "resolved", "cancelled"}


@dataclass
class Edge:
    parent: int
    type: str
    on_failure: str
    least: int = 0
    place: int = 0


@dataclass
class Planned:
    """One job of a random flow, and what must become of it."""

    how: str
    value: int
    edges: list[Edge]
    end: str = ""
    inputs: list[Any] = field(default_factory=list)


def random_flow(chance: random.Random) -> list[Planned]:
    jobs: list[Planned] = []
    for number in range(chance.randint(2, 30)):
        how = chance.choices(["good", "flaky", "hopeless"], [12, 2, 1])[0]
        parents = chance.sample(range(number), k=min(number, chance.choice([0, 1, 1, 2, 3, 5])))
        edges = []
        for parent in parents:
            kind = chance.choices(["success", "completion", "data", "conditional"], [4, 2, 3, 2])[0]
            policy = "cancel" if kind == "completion" else chance.choice(["cancel", "cancel", "run"])
            places = sum(edge.type == "data" for edge in edges)
            edges.append(Edge(parent, kind, policy, least=chance.randint(0, 40), place=places))
        jobs.append(Planned(how, chance.randint(0, 99), edges))
    for job in jobs:
        reckon(job, jobs)
    return jobs


def reckon(job: Planned, jobs: list[Planned]) -> None:
    """Once every dead job is closed by a person: completed, resolved or cancelled."""
    goes_on = True
    for edge in job.edges:
        parent = jobs[edge.parent]
        succeeded = parent.end == "completed"
        if edge.type == "data":
            job.inputs.append({"value": parent.value} if succeeded else None)
        if edge.type == "conditional" and succeeded:
            goes_on &= parent.value >= edge.least
        elif edge.type != "completion" and not succeeded:
            goes_on &= edge.on_failure == "run"
    ended = "resolved" if job.how == "hopeless" else "completed"
    job.end = ended if goes_on else "cancelled"


async def stored(shop: Workshop, number: int, planned: list[Planned]) -> list[str]:
    spec = shop.app._registry.get("node")
    flow = shop.app.flow(f"random {number}")
    nodes: list[FlowNode[Any]] = []
    for job in planned:
        inputs = [None] * len(job.inputs)
        given = {"how": job.how, "value": job.value, "inputs": inputs}
        node = flow._add_bound(spec, spec.bind((), given), NO_OPTIONS)
        for edge in job.edges:
            parent = nodes[edge.parent]
            if edge.type == "data":
                flow.take(node, f"/inputs/{edge.place}", parent)
                node.after(parent, on_failure=edge.on_failure)  # type: ignore[arg-type]  # drawn from the right words
            elif edge.type == "conditional":
                node.after(parent.when("/value", ">=", edge.least), on_failure=edge.on_failure)  # type: ignore[arg-type]  # drawn from the right words
            else:
                node.after(parent, wait_for=edge.type, on_failure=edge.on_failure)  # type: ignore[arg-type]  # drawn from the right words
        nodes.append(node)
    handle = await flow.enqueue()
    return [str(job.id) for job in handle.jobs]


@asynccontextmanager
async def killed_now_and_then(shop: Workshop, chance: random.Random) -> AsyncIterator[None]:
    """Three workers, of which one dies every other moment and is replaced."""

    async def kill() -> None:
        while True:
            await asyncio.sleep(KILL_EVERY)
            living = [worker for worker in shop.workers if worker.is_running]
            chance.choice(living).signal(signal.SIGKILL)
            shop.start_worker(concurrency=10)

    for _ in range(3):
        await shop.started_worker(concurrency=10)
    killing = asyncio.create_task(kill())
    try:
        yield
    finally:
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing


async def unfinished(shop: Workshop) -> int:
    [[number]] = await shop.rows(
        "SELECT count(*) FROM backstay.jobs WHERE state NOT IN ('completed', 'resolved', 'cancelled')"
    )
    return int(number)


async def all_over(shop: Workshop) -> bool:
    """Whether everything has ended; what died meanwhile is closed, as a person would."""
    await shop.app.dead_letters.resolve_all(DeadLetterFilter(), by="test", reason="seen")
    return await unfinished(shop) == 0


@pytest.mark.prove
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("database", "flows"), [("postgres", 1000), ("sqlite", 150)])
async def test_random_flows_end_as_their_picture_says_while_workers_are_killed(
    database: str, flows: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(request.getfixturevalue(f"{database}_url"))
    chance = random.Random(7)
    planned = [random_flow(chance) for _ in range(flows)]
    expected: dict[str, Planned] = {}

    async with workshop(url, tmp_path) as shop, killed_now_and_then(shop, chance):
        for number, jobs in enumerate(planned):
            expected |= dict(zip(await stored(shop, number, jobs), jobs, strict=True))
        await eventually(lambda: all_over(shop), within=900, every=1)
        killed = sum(not worker.is_running for worker in shop.workers)
        ends = await shop.rows("SELECT id, state, args, result FROM backstay.jobs")
        early = await shop.rows(TOO_EARLY)
        crashed = await shop.rows("SELECT count(*) FROM backstay.attempts WHERE status = 'crashed'")

    assert early == []
    assert len(ends) == len(expected)
    wrong = [
        (str(job_id), state, expected[str(job_id)])
        for job_id, state, *_ in ends
        if state != expected[str(job_id)].end
    ]
    assert wrong == []
    for job_id, state, args, _ in ends:
        if state == "completed":
            assert json.loads(args)["inputs"] == expected[str(job_id)].inputs
    figures = {"flows": flows, "jobs": len(ends), "workers killed": killed, "runs crashed": crashed[0][0]}
    assert killed > 0, figures
    (tmp_path / "figures.json").write_text(json.dumps(figures))


# A run of a child that began before the parent it waited for had ended, by the database's own clock. A dead parent that
# a person closed later had ended when it died.
TOO_EARLY = """
SELECT tie.job_id, tie.parent_id, run.started_at, parent.finished_at
FROM backstay.dependencies AS tie
JOIN backstay.jobs AS parent ON parent.id = tie.parent_id
JOIN (
    SELECT job_id, started_at FROM backstay.attempts
    UNION ALL
    SELECT id, started_at FROM backstay.jobs WHERE started_at IS NOT NULL
) AS run ON run.job_id = tie.job_id
WHERE run.started_at < parent.finished_at
"""
