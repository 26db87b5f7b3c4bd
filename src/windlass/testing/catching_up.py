"""Does at once what the leader of a running system does in the course of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.assembly import StoredPolicies
from windlass.client.numbers import Numbers
from windlass.maintenance.rescuer import HOLD_FOR, OVERRUN, Rescuer
from windlass.maintenance.scheduler import Scheduler
from windlass.records import Vitals
from windlass.stores.contract import Stores
from windlass.worker.worker import Worker

if TYPE_CHECKING:
    from windlass.app import Windlass

BATCH = 1000


async def catch_up(app: Windlass, worker: Worker) -> None:
    """Take back what ran out, end what came too late, fire what is due, promote jobs, give up silent workers."""
    stores = app.jobs.stores
    await _rescue(app, stores, worker)
    while await stores.upkeep.expire(limit=BATCH):
        pass
    while await stores.upkeep.miss_deadlines(limit=BATCH):
        pass
    await _fire(app, stores, worker)
    while await stores.upkeep.promote(limit=BATCH):
        pass
    await stores.queues.tend()
    while await stores.signals.time_out(limit=BATCH):
        pass
    # The worker of the test lives, however far the test has travelled.
    await stores.workers.tick(worker.id, vitals=Vitals(), lease=app.settings.leader_lease, overrun=OVERRUN)
    await stores.workers.bury(silence=app.settings.silence)


async def _fire(app: Windlass, stores: Stores, worker: Worker) -> None:
    scheduler = Scheduler(stores.schedules, app.jobs.wakeups, emit=worker._emit, env=worker._env)
    while await scheduler.fire_due():
        pass
    while await stores.schedules.let_go(limit=BATCH):
        pass


async def _rescue(app: Windlass, stores: Stores, worker: Worker) -> None:
    # Not the rescuer's own sweep: it waits after a jump of the clock, and travelling is nothing else.
    numbers = Numbers(app._builder, worker._emit)
    numbers.use(await stores.overrides.all())
    rescuer = Rescuer(
        stores.claims,
        StoredPolicies(stores.kinds, numbers, worker._env).decide,
        reconnections=lambda: 0,
        lease=lambda: app.settings.leader_lease,
        wakeups=app.jobs.wakeups,
        emit=worker._emit,
        env=worker._env,
    )
    while seized := await stores.claims.seize(limit=BATCH, hold_for=HOLD_FOR, overrun=OVERRUN):
        await rescuer.settle(seized)
