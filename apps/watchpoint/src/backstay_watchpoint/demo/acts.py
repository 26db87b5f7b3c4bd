"""The acts of the demonstration, each with the sums that must hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import func, select

from backstay import JobHandle
from backstay.errors import JobFailed, StoreBusy
from backstay_parts.demo import Demo, DemoFailed
from backstay_parts.servers import ServerProcess
from backstay_watchpoint.demo import payments, seed, weather
from backstay_watchpoint.demo.day_sums import check_day, check_forecasts, digests_of
from backstay_watchpoint.demo.looks import PATIENCE_SECONDS, Looks, until
from backstay_watchpoint.demo.reach import command, provider, storage
from backstay_watchpoint.demo.stack import Stack, start_worker
from backstay_watchpoint.domain.catalogue import TASKS, TaskSpec, task_named
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.local.world import World
from backstay_watchpoint.store.runs import Trigger
from backstay_watchpoint.store.tables import (
    calibration_candidates,
    calibration_coefficients,
    organizations,
    rate_limits,
    sent_mails,
    usage_history,
)

ORGANIZATIONS = 200
CUSTOMERS = 12
DRIFTING = 3
HEADLESS = 2
DEFERRED = 120
DELETED = 120
CANARY_ALERTS = 1
INVENTORY_FIRES = 343
ADDED = ("update_calibration", "purge_notifications", "archive_audit_logs")


class Acts:
    """The demonstration's state between its acts."""

    def __init__(self, demo: Demo, running: Stack, jobs: Jobs, day: datetime) -> None:
        self.demo, self.running, self.jobs, self.day = demo, running, jobs, day
        self.database = jobs.platform.database
        self.looks = Looks(running, self.database)
        self.world = World.drawn(7, tiles=weather.TILES)
        self.expected = {"digests": digests_of(day, ORGANIZATIONS), "drifting": DRIFTING}
        self.items: dict[str, int] = {}
        self.cells: dict[str, list[str]] = {}
        self.told: set[str] = set()

    async def migrate(self) -> None:
        """Make the tables and the queues, without which our processes do not start."""
        platform = self.jobs.platform
        await platform.app.migrate()
        for queue in (platform.settings.notification_queue, platform.settings.eval_queue):
            await platform.queues.create(queue)

    async def prepare(self) -> None:
        """Fill the database, the buckets and Stripe; plan what goes wrong."""
        settings = self.jobs.platform.settings
        self.demo.event("200 organisations in twelve zones, 2,000 watchpoints, fourteen days of forecasts")
        changing = [zone for zone in seed.ZONES if _changes_clocks(zone, self.day)]
        self.demo.event(f"zones whose clocks change on that day: {', '.join(changing) or 'none'}")
        await seed.seed_tenants(self.database, self.day, number=ORGANIZATIONS)
        self.expected["calls"] = await seed.seed_counters(self.database, ORGANIZATIONS, self.day)
        await seed.seed_deferred(self.database, ORGANIZATIONS, self.day, deliveries=DEFERRED)
        await seed.seed_canaries(self.database, self.day)
        await seed.seed_old(self.database, self.day)
        await seed.seed_deleted(self.database, self.jobs.platform.clock(), number=DELETED)
        client = storage(self.jobs)
        for bucket in (settings.forecast_bucket, settings.archive_bucket, settings.observation_bucket):
            await asyncio.to_thread(client.create_bucket, Bucket=bucket)
        held = weather.upstream(self.world, self.day)
        await asyncio.gather(*(self._fill_mirror(server.url, held) for server in self.running.upstream))
        self.expected |= await weather.seed_forecasts(
            self.database, client, settings.forecast_bucket, self.world, self.day
        )
        seen = weather.observations(self.world, weather.verified_runs(self.day))
        await asyncio.to_thread(weather.put_all, client, settings.observation_bucket, seen)
        stripe = self.running.stripe
        made = await asyncio.to_thread(
            payments.make_customers, stripe.api_key, stripe.url, CUSTOMERS, DRIFTING
        )
        await payments.store_customers(self.database, made, HEADLESS)
        await self._plan_faults()

    async def _fill_mirror(self, url: str, held: dict[str, bytes]) -> None:
        mirror = storage(self.jobs, url)
        await asyncio.to_thread(mirror.create_bucket, Bucket="noaa")
        await asyncio.to_thread(weather.put_all, mirror, "noaa", held)

    async def live_through(self) -> None:
        """Run every fire of the inventory, hour by hour."""
        done = 0
        for hour in range(24):
            start = self.day + timedelta(hours=hour)
            handles = []
            for task in TASKS:
                for fire in fires(task, start, start + timedelta(hours=1)):
                    if task.name not in ADDED:
                        handle = await self.jobs.enqueue(task, trigger=Trigger.BACK_FILL, reference_time=fire)
                        handles.append((task, handle))
            for task, handle in handles:
                await self._note(task, hour, handle)
            await until(self.looks.no_run_is_left, "the provider to finish")
            done += len(handles)
            self.demo.event(f"{hour:02d}:00 done, {done} fires")
        enforcement = sum(
            len(fires(task_named(name), self.day, self.day + timedelta(days=1)))
            for name in ("enforce_payment_failure", "enforce_overage")
        )
        self.demo.check("fires of the inventory", INVENTORY_FIRES, done - enforcement)
        await check_forecasts(self.demo, self.looks, self.items, self.expected)
        await check_day(self.demo, self.looks, self.items, self.expected)

    async def added_tasks(self) -> None:
        """Run the weekly and monthly tasks once, for that day."""
        for name in ADDED:
            at = self.day + timedelta(hours=23)
            handle = await self.jobs.enqueue(task_named(name), trigger=Trigger.MANUAL, reference_time=at)
            await self._note(task_named(name), 23, handle)
        asked = self.items["update_calibration"]
        await until(lambda: self.looks.is_calibrated(asked), "the calibration")
        self.demo.check("old notifications deleted", seed.NOTIFICATIONS, self.items["purge_notifications"])
        self.demo.check("old audit records archived", seed.AUDIT, self.items["archive_audit_logs"])

    async def mails(self) -> None:
        """Wait for the mails: one for each digest, archived watchpoint and deferred notification."""
        expected = {
            "digest": self.items["trigger_digests"],
            "summary": self.items["archive_watchpoints"],
            "notification": DEFERRED,
            "alert": CANARY_ALERTS,
        }
        total = sum(expected.values())
        await until(lambda: self._has_sent(total), "the mails")
        async with self.database.reading() as transaction:
            kinds = select(sent_mails.c.kind, func.count()).group_by(sent_mails.c.kind)
            found = {row[0]: row[1] for row in await transaction.execute(kinds.order_by(sent_mails.c.kind))}
        self.demo.check("mails by kind", dict(sorted(expected.items())), found)
        received = self.running.mail.mails()
        self.demo.check("mails at the mail server", total, len(received))
        self.demo.check(
            "each mail once", len(received), len({mail.message["Message-ID"] for mail in received})
        )

    async def approve(self) -> None:
        """Show the change of 9 % that was applied at once, and approve that of 22 % as an operator does."""
        applied = await self.looks.values(calibration_coefficients.c.tile_id)
        self.demo.check("calibration changes applied at once (9 %)", ["1.0"], applied)
        self.demo.event(f"calibration of tile {', '.join(applied)}: 9 %, applied at once")
        async with self.database.reading() as transaction:
            waiting = (await transaction.execute(select(calibration_candidates))).all()
        self.demo.check("calibration changes that wait (22 %)", ["2.6"], [row.tile_id for row in waiting])
        for row in waiting:
            self.demo.event(f"approve it with: backstay-watchpoint candidates approve {row.id}")
            answer = await command(self.running, "candidates", "approve", row.id, "--json")
            self.demo.check("approved", "promoted", answer["status"])

    async def again(self) -> None:
        """Run the same day again: every cell is skipped by its lock; forced, nothing is left to do."""
        asked = [
            (task, fire, await self.jobs.enqueue(task, trigger=Trigger.BACK_FILL, reference_time=fire))
            for task in TASKS
            if task.name not in ADDED
            for fire in fires(task, self.day, self.day + timedelta(days=1))
        ]
        self.cells = {}
        results = []
        for task, fire, handle in asked:
            results.append(await self._result(handle))
            self._draw(task, fire.hour, results[-1])
        skipped = sum("skipped" in result for result in results)
        self.demo.check("the same day again: skipped", len(asked), skipped)
        forced = []
        for task in TASKS:
            last = [*fires(task, self.day, self.day + timedelta(days=1)), self.day + timedelta(hours=23)][-1]
            forced.append(
                await self.jobs.enqueue(task, trigger=Trigger.MANUAL, reference_time=last, force=True)
            )
        items = {
            task.name: (await self._result(handle))["items"]
            for task, handle in zip(TASKS, forced, strict=True)
        }
        left = {name: count for name, count in items.items() if count}
        self.demo.check("forced: tasks with items", {}, left)

    async def clean_up(self) -> None:
        """Try the clean-up first, then really: 50, 50 and 20."""
        task = task_named("cleanup_soft_deletes")
        tried = await self._result(await self.jobs.enqueue(task, trigger=Trigger.MANUAL, dry_run=True))
        self.demo.event(f"dry run: {tried['would_change']} would go, such as {tried['sample'][0]}")
        self.demo.check(
            "organisations after the dry run", DELETED + ORGANIZATIONS, await self.looks.count(organizations)
        )
        counts = []
        for _ in range(3):
            handle = await self.jobs.enqueue(task, trigger=Trigger.MANUAL, force=True)
            counts.append((await self._result(handle))["items"])
        self.demo.check("clean-up", [50, 50, 20], counts)
        self.demo.check("the dry run said", counts[0], tried["would_change"])

    async def killed(self) -> None:
        """Kill a worker with -9 in the middle of the aggregation: the sums hold."""
        now = self.jobs.platform.clock()
        async with self.database.transaction() as transaction:
            for owner in range(ORGANIZATIONS):
                identity = seed.name_of("org", owner)
                await transaction.execute(
                    rate_limits.update()
                    .where(rate_limits.c.organization_id == identity)
                    .values(api_calls_count=owner + 1)
                )
        expected = await self.looks.total(rate_limits.c.api_calls_count)
        before = await self.looks.total(usage_history.c.api_calls)
        self.running.workers.pop().kill()
        handle = await self.jobs.enqueue(
            task_named("aggregate_usage"), trigger=Trigger.MANUAL, reference_time=now, force=True
        )
        await until(lambda: self.looks.has_begun(str(handle.id)), "the aggregation to begin")
        self.running.workers.pop().kill()
        self.demo.event("worker killed with -9 in the middle of aggregate_usage")
        with start_worker(self.running.environment, 9) as successor:
            await self._result_of(handle, successor)
        history = await self.looks.total(usage_history.c.api_calls)
        current = await self.looks.total(rate_limits.c.api_calls_count)
        self.demo.check("calls in the history after the kill", expected, history - before)
        self.demo.check("calls left in the counters", 0, current)

    async def _plan_faults(self) -> None:
        """Let one nowcast hang and another one fail three times."""
        hanging = self.day + timedelta(hours=6)
        failing = self.day + timedelta(hours=9)
        for at, mode, count in ((hanging, "hang", 1), (failing, "fail", 3)):
            stamp = f"{at:%Y-%m-%dT%H:%M:%SZ}"
            fault = {
                "mode": mode,
                "count": count,
                "model": "nowcast",
                "run_timestamp": stamp,
                "task_type": "inference",
            }
            await provider(self.running, "POST", "/local/faults", fault)

    async def _note(self, task: TaskSpec, hour: int, handle: JobHandle[dict[str, Any]]) -> None:
        result = await self._result(handle)
        self.items[task.name] = self.items.get(task.name, 0) + result.get("items", 0)
        self._draw(task, hour, result)
        self._tell(task, result.get("warnings", ()))
        if task.name == "reconcile_forecasts" and result["items"]:
            self._tell(task, await self.looks.changes(result["run"]))

    def _draw(self, task: TaskSpec, hour: int, result: dict[str, Any]) -> None:
        cells = self.cells.setdefault(task.name, [" "] * 24)
        cells[hour] = _worse(cells[hour], _sign(result))
        self.demo.row(task.name, day="".join(cells), items=self.items[task.name])

    def _tell(self, task: TaskSpec, lines: Sequence[str]) -> None:
        for line in lines:
            if line not in self.told:  # the mirrors fail all day
                self.told.add(line)
                self.demo.event(f"{task.name}: {line[:110]}")

    async def _result(self, handle: JobHandle[dict[str, Any]]) -> dict[str, Any]:
        while True:
            try:
                return await handle.result(timeout=PATIENCE_SECONDS)
            except JobFailed as error:
                self.demo.event(str(error)[:160])
                return {"failed": str(error), "items": 0}
            except StoreBusy:  # a file has one writer; asking again costs nothing
                continue

    async def _result_of(self, handle: JobHandle[dict[str, Any]], worker: ServerProcess) -> None:
        """Wait for a job that one worker alone can do."""
        result = asyncio.create_task(self._result(handle))
        while not result.done():
            if not worker.is_running:
                result.cancel()
                raise DemoFailed(f"the worker has ended: {worker.output()[-600:]}")
            await asyncio.wait([result], timeout=0.5)
        await result

    async def _has_sent(self, number: int) -> bool:
        return await self.looks.count(sent_mails) >= number


def _changes_clocks(zone: str, day: datetime) -> bool:
    offsets = {(day + timedelta(hours=hour)).astimezone(ZoneInfo(zone)).utcoffset() for hour in range(25)}
    return len(offsets) > 1


def _sign(result: dict[str, Any]) -> str:
    """Say what a run came to: failed, skipped, changed something, had nothing to do."""
    if "failed" in result:
        return "F"
    if "skipped" in result:
        return "s"
    return "#" if result["items"] else "."


def _worse(one: str, other: str) -> str:
    return min(one, other, key="Fs#. ".index)
