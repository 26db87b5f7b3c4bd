"""When the rescuer must wait although leases have run out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from backstay.client.decider import StoredDecider
from backstay.client.effective_policy import EffectivePolicies
from backstay.client.enqueue.building import Builder
from backstay.maintenance.figure_writer import FigureWriter
from backstay.maintenance.rescuer import Rescuer
from backstay.model.events import silent
from backstay.model.policy.profile import Profile
from backstay.model.records import MaintenanceLook
from backstay.model.states import State
from backstay.runtime.env import Env
from backstay.testing.contract.support import HOUR, LEASE, SECOND, Store

LONG_AGO = 1000 * HOUR


class NoWakeups:
    """Nobody listens."""

    def send(self, *hints: str) -> None: ...

    async def listen(self, on_hint: object) -> None: ...

    async def close(self) -> None: ...


@dataclass
class Watch:
    """A clock of the rescuer's own, which no database can set."""

    seconds: float = 500.0
    reconnections: int = 0


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def rescuer(store: Store, watch: Watch) -> Rescuer:
    env = Env(monotonic=lambda: watch.seconds, random=lambda: 0.5)
    return Rescuer(
        store.stores.claims,
        StoredDecider(store.stores.kinds, EffectivePolicies(Builder(Profile(name="test"), env), silent), env),
        reconnections=lambda: watch.reconnections,
        lease=lambda: LEASE,
        figures=FigureWriter(store.stores.figures, list, emit=silent),
        wakeups=NoWakeups(),
        emit=silent,
        env=env,
    )


def look(store: Store) -> MaintenanceLook:
    return MaintenanceLook(
        now=store.now(),
        started_at=store.now() - LONG_AGO,
        due_in=None,
        has_expired=True,
        has_unstarted=False,
        has_late=False,
    )


def both_later(store: Store, watch: Watch, by: timedelta) -> None:
    store.later(by)
    watch.seconds += by.total_seconds()


async def test_a_worker_that_saw_the_clock_jump_waits_even_if_it_leads_only_since(
    store: Store, rescuer: Rescuer, watch: Watch
) -> None:
    """The jump itself may end the old leadership, and whoever comes next must know of it."""
    claim = await store.claimed()
    rescuer.compare(store.now())
    store.later(HOUR)
    rescuer.compare(store.now())

    assert await rescuer.sweep(look(store)) == 0
    both_later(store, watch, LEASE + SECOND)
    rescuer.compare(store.now())
    assert await rescuer.sweep(look(store)) == 1
    assert await store.state(claim.id) is State.AVAILABLE


async def test_a_jump_after_the_clocks_were_compared_is_not_believed(
    store: Store, rescuer: Rescuer, watch: Watch
) -> None:
    await store.claimed()
    rescuer.compare(store.now())
    store.later(HOUR)

    assert await rescuer.sweep(look(store)) == 0


async def test_a_worker_that_lost_its_connection_waits(store: Store, rescuer: Rescuer, watch: Watch) -> None:
    await store.claimed()
    rescuer.compare(store.now())
    both_later(store, watch, LEASE + SECOND)
    watch.reconnections += 1
    rescuer.compare(store.now())

    assert await rescuer.sweep(look(store)) == 0


async def test_after_a_start_of_the_database_leases_are_given_one_lease(
    store: Store, rescuer: Rescuer, watch: Watch
) -> None:
    """And not two: the wait counts from the start, whenever it was seen."""
    await store.claimed()
    both_later(store, watch, 2 * LEASE)
    rescuer.compare(store.now())
    started = store.now() - LEASE / 2

    too_early = await rescuer.sweep(replace(look(store), started_at=started))
    both_later(store, watch, LEASE / 2 + SECOND)
    rescuer.compare(store.now())

    assert too_early == 0
    assert await rescuer.sweep(replace(look(store), started_at=started)) == 1


async def test_time_that_passes_evenly_is_trusted(store: Store, rescuer: Rescuer, watch: Watch) -> None:
    await store.claimed()
    rescuer.compare(store.now())
    both_later(store, watch, LEASE + SECOND)
    rescuer.compare(store.now())

    assert await rescuer.sweep(look(store)) == 1
