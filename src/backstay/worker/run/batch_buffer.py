"""Gathers the jobs of batch kinds until there are enough of them, or the first has waited long enough."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from backstay.model.batch import Batching
from backstay.model.job import Claim
from backstay.runtime.env import Env
from backstay.worker.run.running import Running


@dataclass
class Gathering:
    """The jobs of one kind that wait for company.

    A job that failed or crashed before is handled alone: one bad job must not fail the others again and again.
    """

    batching: Batching
    items: list[Running] = field(default_factory=list)
    closes_at: float | None = None
    """When those that wait are handled, however few they are."""

    def add(self, running: Running, *, now: float) -> list[Running]:
        """Take a job in; returns the batch that is complete by it, empty while it is not."""
        if _may_be_a_danger(running.claim):
            return [running]
        self.items.append(running)
        if len(self.items) >= self.batching.size:
            return self.take_all()
        if self.closes_at is None:
            self.closes_at = now + self.batching.wait.total_seconds()
        return []

    def take_all(self) -> list[Running]:
        """Those that wait; from now on nobody does."""
        items, self.items, self.closes_at = self.items, [], None
        return items

    def take_due(self, *, now: float) -> list[Running]:
        """Those that wait, if they have waited long enough."""
        return self.take_all() if self.closes_at is not None and now >= self.closes_at else []


class Gatherings:
    """One gathering a kind; `on_due` is given the first of a batch that waits no longer, on the handlers' loop."""

    def __init__(self, on_due: Callable[[Running], None], env: Env) -> None:
        self._on_due, self._env = on_due, env
        self._by_kind: dict[str, Gathering] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Measure waiting times on this loop."""
        self._loop = loop

    def add(self, running: Running, batching: Batching) -> list[Running]:
        """Take a job in; returns the first of a batch that is complete by it."""
        kind, now = running.spec.kind, self._env.monotonic()
        with self._lock:
            gathering = self._by_kind.setdefault(kind, Gathering(batching))
            before = gathering.closes_at
            complete = gathering.add(running, now=now)
            closes_at = gathering.closes_at
        if before is None and closes_at is not None:
            assert self._loop is not None, "use_loop comes before start"
            self._loop.call_soon_threadsafe(self._close_at, closes_at, kind)
        return [lead(complete)] if complete else []

    def room(self, kind: str, batching: Batching) -> int:
        """How many jobs the next batch of a kind can still take."""
        known = self._by_kind.get(kind)
        return batching.size - (len(known.items) if known else 0)

    def take_all(self) -> list[Running]:
        """Everyone who waits."""
        with self._lock:
            return [running for gathering in self._by_kind.values() for running in gathering.take_all()]

    def _close_at(self, moment: float, kind: str) -> None:
        """Handle those that wait, at this moment, unless they became enough before."""
        assert self._loop is not None
        now = self._env.monotonic()
        with self._lock:
            gathering = self._by_kind[kind]
            if gathering.closes_at != moment:
                return
            due = gathering.take_due(now=now)
        if due:
            self._on_due(lead(due))
        else:
            self._loop.call_later(moment - now, self._close_at, moment, kind)


def lead(batch: list[Running]) -> Running:
    """The first of a batch, which has the slot for all of them."""
    first, *others = batch
    first.rest_of_batch = tuple(others)
    for other in others:
        other.leader = first
    return first


def _may_be_a_danger(claim: Claim) -> bool:
    """Whether a run of it has failed or crashed before; where it has one attempt, a crash has given it back."""
    return claim.is_suspect or claim.attempt > 1 or (claim.max_attempts == 1 and claim.run > 1)
