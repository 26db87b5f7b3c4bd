"""Flows in simulated worlds: people store some beside single jobs, and no job may start before its parents allow it."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from backstay.client.flow_building import Flow, FlowNode
from backstay.client.flows import FlowKeeper
from backstay.errors import OutcomeUnknown, StoreError
from backstay.handler import Handler
from backstay.model.job import JobId
from backstay.options import NO_OPTIONS

FLOWS = 3

# Written down here a second time on purpose, as all that judges the library.
UNMET = """
SELECT tie.parent_id, tie.verdict, parent.state
FROM backstay_dependencies AS tie
JOIN backstay_jobs AS parent ON parent.id = tie.parent_id
WHERE tie.job_id = ?
  AND (
    tie.verdict IS NULL
    OR tie.verdict IN ('cancel', 'hold')
    OR (tie.verdict = 'met' AND tie.type = 'success' AND parent.state <> 'completed')
  )
"""
BLOCKED = """
WITH RECURSIVE blocked (id) AS (
    SELECT tie.job_id
    FROM backstay_dependencies AS tie
    JOIN backstay_jobs AS parent ON parent.id = tie.parent_id
    WHERE tie.verdict IS NULL AND parent.state = 'dead' AND tie.type <> 'completion' AND tie.on_failure <> 'run'
    UNION
    SELECT tie.job_id
    FROM backstay_dependencies AS tie
    JOIN blocked ON blocked.id = tie.parent_id
    WHERE tie.verdict IS NULL
)
SELECT job.id FROM blocked JOIN backstay_jobs AS job ON job.id = blocked.id WHERE job.state = 'held'
"""


def unmet(connection: sqlite3.Connection, job: str) -> str | None:
    """What should have kept a job from starting; None if nothing."""
    found = connection.execute(UNMET, (job,)).fetchone()
    return None if found is None else f"parent {found[0]} is {found[2]}, and its verdict is {found[1]}"


def blocked(connection: sqlite3.Connection) -> set[str]:
    """The jobs that wait for a dead one, which only a person can bring on."""
    return {row[0] for row in connection.execute(BLOCKED)}


class Flowing:
    """Stores flows, with chance of its own."""

    def __init__(
        self,
        chance: random.Random,
        handlers: tuple[Handler[..., Any], ...],
        plan: Callable[[random.Random], Any],
    ) -> None:
        self._chance, self._handlers, self._plan = chance, handlers, plan
        self.accepted: dict[str, str] = {}
        self.unknown: set[str] = set()
        self.told: list[str] = []

    async def store_all(self, client: Any, jobs: list[Any], *, seconds: float) -> None:
        for number in range(FLOWS):
            await asyncio.sleep(self._chance.expovariate(FLOWS / seconds))
            await self._store(client, jobs, number)

    async def _store(self, client: Any, jobs: list[Any], number: int) -> None:
        keeper = FlowKeeper(
            SimpleNamespace(flows=client.flows, jobs=client.jobs, url=client.enqueuer.home),
            client.enqueuer.builder,
            None,
        )
        flow = Flow(f"flow {number}", keeper)
        for _ in range(self._chance.randint(2, 5)):
            self._add(flow, jobs)
        ids = {str(node.id): node.spec.kind for node in flow.nodes}
        try:
            await flow.enqueue(tx=False)
        except OutcomeUnknown:
            self.unknown |= set(ids)
        except StoreError as error:
            self.told.append(f"people could not store a flow: {error}")
        else:
            self.accepted |= ids
            jobs += [node.id for node in flow.nodes]

    def _add(self, flow: Flow, jobs: list[Any]) -> None:
        chance = self._chance
        spec = chance.choice(self._handlers).spec
        earlier: list[FlowNode[Any] | JobId] = [*flow.nodes, *(JobId(job) for job in jobs[-3:])]
        node = flow._add_bound(spec, spec.bind((), {"plan": self._plan(chance)}), NO_OPTIONS)
        for parent in chance.sample(earlier, k=min(len(earlier), chance.choice([0, 1, 1, 2, 3]))):
            ends = chance.random() < 0.3
            node.after(
                parent,
                wait_for="completion" if ends else "success",
                on_failure="run" if chance.random() < 0.2 else "cancel",
            )
