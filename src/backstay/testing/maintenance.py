"""Does at once what the leader of a running system does in the course of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backstay.client.decider import StoredDecider
from backstay.client.effective_policy import EffectivePolicies
from backstay.maintenance.figure_writer import FigureWriter
from backstay.maintenance.operator import Operator
from backstay.maintenance.rescuer import HOLD_FOR, OVERRUN, Rescuer
from backstay.maintenance.scheduler import Scheduler
from backstay.model.records import Vitals
from backstay.stores.contract import Stores
from backstay.worker.worker import Worker

if TYPE_CHECKING:
    from backstay.app import Backstay

BATCH = 1000


async def catch_up(app: Backstay, worker: Worker) -> None:
    """Take back what ran out, end what came too late, fire what is due, promote jobs, take the steps of operations."""
    stores = app._enqueuer.stores
    await _rescue(app, stores, worker)
    while await stores.upkeep.expire(limit=BATCH):
        pass
    while await stores.upkeep.miss_deadlines(limit=BATCH):
        pass
    await _fire(app, stores, worker)
    while await stores.upkeep.promote(limit=BATCH):
        pass
    await stores.queues.tend()
    operator = Operator(stores, app._enqueuer.wakeups, emit=worker._emit, env=worker._env)
    while await operator.step():
        pass
    while await stores.signals.time_out(limit=BATCH):
        pass
    # The worker of the test lives, however far the test has travelled.
    await stores.workers.tick(worker.id, vitals=Vitals(), lease=app.settings.leader_lease, overrun=OVERRUN)
    await stores.workers.declare_dead(silence=app.settings.worker_timeout)


async def _fire(app: Backstay, stores: Stores, worker: Worker) -> None:
    scheduler = Scheduler(stores.schedules, app._enqueuer.wakeups, emit=worker._emit, env=worker._env)
    while await scheduler.fire_due():
        pass
    while await stores.schedules.let_go(limit=BATCH):
        pass


async def _rescue(app: Backstay, stores: Stores, worker: Worker) -> None:
    # Not the rescuer's own sweep: it waits after a jump of the clock, and travelling is nothing else.
    numbers = EffectivePolicies(app._builder, worker._emit)
    numbers.use(await stores.overrides.all())
    figures = FigureWriter(stores.figures, worker._take_tally, emit=worker._emit)
    rescuer = Rescuer(
        stores.claims,
        StoredDecider(stores.kinds, numbers, worker._env),
        reconnections=lambda: 0,
        lease=lambda: app.settings.leader_lease,
        figures=figures,
        wakeups=app._enqueuer.wakeups,
        emit=worker._emit,
        env=worker._env,
    )
    while seized := await stores.claims.seize(limit=BATCH, hold_for=HOLD_FOR, overrun=OVERRUN):
        await rescuer.settle(seized)
    await figures.write()
