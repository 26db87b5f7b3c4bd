"""The regular sign of life of a worker, and the duties of the one that leads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from backstay.errors import StoreError
from backstay.maintenance.archiver import Archiver
from backstay.maintenance.chainer import AuditChainer
from backstay.maintenance.dependents_sweeper import DependentsSweeper
from backstay.maintenance.figure_writer import FigureWriter
from backstay.maintenance.neighbours import Neighbours
from backstay.maintenance.operator import Operator
from backstay.maintenance.promoter import Promoter
from backstay.maintenance.releaser import Releaser
from backstay.maintenance.rescuer import OVERRUN, Rescuer
from backstay.maintenance.scheduler import Scheduler
from backstay.maintenance.webhook_teller import WebhookTeller
from backstay.model.events import Emit
from backstay.model.records import MaintenanceLook, Override, Tick, TickInfo, Vitals
from backstay.runtime.env import Env
from backstay.settings.sources import Settings
from backstay.stores.contract import Upkeep, Workers
from backstay.wakeups.contract import ANYTHING, OPERATIONS, OVERRIDES, REPORTED, ROUTES, WORKERS

LOOK_AROUND_EVERY = 0.5
BATCH = 1000

Routes = frozenset[tuple[str, str]]


class Maintenance:
    """Ticks for every worker; promotes, fires, rescues, expires and removes for the leader."""

    def __init__(
        self,
        workers: Workers,
        upkeep: Upkeep,
        promoter: Promoter,
        releaser: Releaser,
        scheduler: Scheduler,
        rescuer: Rescuer,
        archiver: Archiver,
        neighbours: Neighbours,
        dependents_sweeper: DependentsSweeper,
        figures: FigureWriter,
        operator: Operator,
        chainer: AuditChainer,
        teller: WebhookTeller,
        *,
        worker_id: Callable[[], str],
        vitals: Callable[[], Vitals],
        on_given_up: Callable[[], Awaitable[None]],
        on_routes: Callable[[Routes], None],
        on_tick_info: Callable[[TickInfo], None],
        on_overrides: Callable[[Sequence[Override]], None],
        settings: Settings,
        emit: Emit,
        env: Env,
    ) -> None:
        self._workers, self._upkeep, self._promoter, self._scheduler = workers, upkeep, promoter, scheduler
        self._rescuer, self._archiver, self._chainer = rescuer, archiver, chainer
        self._releaser, self._dependents_sweeper = releaser, dependents_sweeper
        self._neighbours, self._figures = neighbours, figures
        self._operator, self._teller = operator, teller
        self._worker_id, self._vitals, self._on_given_up = worker_id, vitals, on_given_up
        self._on_overrides, self._on_tick_info = on_overrides, on_tick_info
        self._on_routes, self._settings, self._emit, self._env = on_routes, settings, emit, env
        self.is_leader = False
        self._told: str | None = None
        self._leading: list[asyncio.Task[None]] = []
        self._called, self._something_changed = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        """Do the duties until cancelled."""
        start = asyncio.get_running_loop().create_task
        watching = [start(self._neighbours.run()), start(self._look_around_after_changes())]
        try:
            while True:
                try:
                    await self._tick()
                except StoreError as error:
                    self._emit("store.failed", doing="maintenance", error=str(error))
                except Exception as error:  # a duty that fails must not end the others
                    self._emit("duty.failed", error=repr(error))
                await self._until_next_tick()
        finally:
            for task in watching:
                task.cancel()
            self._stop_leading()

    def on_hint(self, hint: str) -> None:
        """Tick at once for new routes, neighbours and numbers; pass on what concerns promoter and scheduler."""
        if hint in (ROUTES, WORKERS, OVERRIDES, REPORTED, OPERATIONS):
            self._called.set()
        elif hint == ANYTHING:
            self._something_changed.set()
        self._promoter.on_hint(hint)
        self._releaser.on_hint(hint)
        self._scheduler.on_hint(hint)

    async def resign(self) -> None:
        """Let another worker lead."""
        self._stop_leading()
        await self._figures.write()
        if self.is_leader:
            await self._workers.resign(self._worker_id())

    async def _until_next_tick(self) -> None:
        with suppress(TimeoutError):
            tick = self._settings.tick.total_seconds()
            async with asyncio.timeout(tick * (0.95 + 0.1 * self._env.random())):
                await self._called.wait()
        self._called.clear()

    async def _look_around_after_changes(self) -> None:
        """Hear of new routes, neighbours and numbers where a hint does not say what it is about.

        Without ticking: a tick is written, so that two idle workers would wake each other forever.
        """
        while True:
            await self._something_changed.wait()
            self._something_changed.clear()
            try:
                near = await self._workers.tick_info(self._worker_id())
            except StoreError as error:
                self._emit("store.failed", doing="look around", error=str(error))
            else:
                self._learn(near)
            await self._env.sleep(LOOK_AROUND_EVERY)

    async def _tick(self) -> None:
        tick: Tick = await self._workers.tick(
            self._worker_id(),
            vitals=self._vitals(),
            lease=self._settings.leader_lease,
            overrun=OVERRUN,
        )
        if tick.now is not None:
            self._rescuer.compare(tick.now)
        if not tick.is_alive:
            await self._on_given_up()
            if self._told is not None:
                # What it was told holds under its new name as well.
                await self._workers.tell(self._worker_id(), self._told, actor="worker", reason="replaced")
        else:
            self._learn(tick.tick_info)
        self._lead(tick.is_leader)
        if tick.schedules is not None:
            self._scheduler.know(tick.schedules)
        if tick.look is not None:
            await self._serve(tick.look)
        await self._figures.write()

    def _learn(self, near: TickInfo) -> None:
        self._on_overrides(near.overrides)
        self._on_routes(near.routes)
        self._on_tick_info(near)
        self._told = near.told
        self._neighbours.know(near.neighbours)

    def _lead(self, is_leader: bool) -> None:
        if is_leader is not self.is_leader:
            self.is_leader = is_leader
            self._emit("leader.elected" if is_leader else "leader.lost", worker=self._worker_id())
        if not is_leader:
            self._stop_leading()
        elif not self._leading or any(task.done() for task in self._leading):
            self._stop_leading()
            start = asyncio.get_running_loop().create_task
            duties = (self._promoter, self._releaser, self._scheduler)
            self._leading = [start(duty.run()) for duty in duties]

    async def _serve(self, look: MaintenanceLook) -> None:
        self._promoter.next_due_in(look.due_in)
        await self._releaser.repair(look)
        if look.has_reports:
            await self._rescuer.settle_reported()
        await self._rescuer.sweep(look)
        await self._dependents_sweeper.sweep(look)
        if look.has_unstarted:
            self._emit("job.expired", jobs=await self._upkeep.expire(limit=BATCH))
        if look.has_unchained:
            await self._chainer.run()
        if look.has_operations:
            self._operator.begin()
        if look.has_webhooks:
            self._teller.begin()
        else:
            self._teller.stop()
        if look.has_misfits:
            await self._promoter.tend_misfits()
        if look.has_paused:
            await self._promoter.tend_pauses()
        if look.has_late:
            self._emit("job.late", jobs=await self._upkeep.miss_deadlines(limit=BATCH))
        if look.silence > self._settings.worker_timeout:
            for worker in await self._workers.declare_dead(silence=self._settings.worker_timeout):
                self._emit("worker.declared_dead", worker=worker)
        await self._archiver.run_if_due()

    def _stop_leading(self) -> None:
        for task in self._leading:
            task.cancel()
        self._leading = []
        self._operator.stop()
        self._teller.stop()
