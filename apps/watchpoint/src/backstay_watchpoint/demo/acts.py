"""The acts of the demonstration, each with the sums that must hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from backstay import JobHandle
from backstay.errors import JobFailed, StoreBusy
from backstay_parts.demo import Demo, DemoFailed
from backstay_parts.servers import ServerProcess
from backstay_watchpoint.demo import payments, seed, weather
from backstay_watchpoint.demo.reach import command, provider, storage
from backstay_watchpoint.demo.stack import Stack, start_worker
from backstay_watchpoint.domain.catalogue import TASKS, TaskSpec, task_named
from backstay_watchpoint.domain.digests import next_digest
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.domain.forecasts import RunStatus
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.local.world import World
from backstay_watchpoint.store.runs import Trigger
from backstay_watchpoint.store.tables import (
    alerts,
    billing_drifts,
    calibration_candidates,
    forecast_runs,
    notification_deliveries,
    organizations,
    rate_limits,
    sent_mails,
    task_runs,
    usage_history,
    watchpoints,
)

ORGANIZATIONS = 200
CUSTOMERS = 12
DRIFTING = 3
HEADLESS = 2
DEFERRED = 120
DELETED = 120
CANARY_ALERTS = 1
INVENTORY_FIRES = 343
PATIENCE_SECONDS = 240
ADDED = ("update_calibration", "purge_notifications", "archive_audit_logs")


class Acts:
    """The demonstration's state between its acts."""

    def __init__(self, demo: Demo, running: Stack, jobs: Jobs, day: datetime) -> None:
        self.demo, self.running, self.jobs, self.day = demo, running, jobs, day
        self.database = jobs.platform.database
        self.world = World.drawn(7, tiles=weather.TILES)
        self.calls = 0
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
        await seed.seed_tenants(self.database, self.day, number=ORGANIZATIONS)
        self.calls = await seed.seed_counters(self.database, ORGANIZATIONS, self.day)
        await seed.seed_deferred(self.database, ORGANIZATIONS, self.day, deliveries=DEFERRED)
        await seed.seed_canaries(self.database, self.day)
        await seed.seed_deleted(self.database, self.jobs.platform.clock(), number=DELETED)
        client = storage(self.jobs)
        for bucket in (settings.forecast_bucket, settings.archive_bucket, settings.observation_bucket):
            await asyncio.to_thread(client.create_bucket, Bucket=bucket)
        held = weather.upstream(self.world, self.day)
        await asyncio.gather(*(self._fill_mirror(server.url, held) for server in self.running.upstream))
        self.seeded = await weather.seed_forecasts(
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
            await self._until(self._no_run_is_left, "the provider to finish")
            done += len(handles)
            self.demo.event(f"{hour:02d}:00 done, {done} fires")
        enforcement = sum(
            len(fires(task_named(name), self.day, self.day + timedelta(days=1)))
            for name in ("enforce_payment_failure", "enforce_overage")
        )
        self.demo.check("fires of the inventory", INVENTORY_FIRES, done - enforcement)
        await self._check_the_day()

    async def added_tasks(self) -> None:
        """Run the weekly and monthly tasks once, for that day."""
        for name in ADDED:
            at = self.day + timedelta(hours=23)
            handle = await self.jobs.enqueue(task_named(name), trigger=Trigger.MANUAL, reference_time=at)
            await self._note(task_named(name), 23, handle)
        await self._until(self._is_calibrated, "the calibration")

    async def mails(self) -> None:
        """Wait for the mails: one for each digest, archived watchpoint and deferred notification."""
        expected = {
            "digest": self.items["trigger_digests"],
            "summary": self.items["archive_watchpoints"],
            "notification": DEFERRED,
            "alert": CANARY_ALERTS,
        }
        await self._until(lambda: self._has_sent(sum(expected.values())), "the mails")
        async with self.database.reading() as transaction:
            rows = await transaction.execute(
                select(sent_mails.c.kind, func.count())
                .group_by(sent_mails.c.kind)
                .order_by(sent_mails.c.kind)
            )
            self.demo.check("mails by kind", dict(sorted(expected.items())), {row[0]: row[1] for row in rows})
        received = self.running.mail.mails()
        self.demo.check("mails at the mail server", sum(expected.values()), len(received))
        self.demo.check(
            "each mail once", len(received), len({mail.message["Message-ID"] for mail in received})
        )

    async def approve(self) -> None:
        """Approve the change of 22 % by the command that an operator types."""
        async with self.database.reading() as transaction:
            waiting = (await transaction.execute(select(calibration_candidates))).all()
        self.demo.check("calibration changes that wait (22 %)", ["2.6"], [row.tile_id for row in waiting])
        for row in waiting:
            self.demo.event(f"approve it with: backstay-watchpoint candidates approve {row.id}")
            answer = await command(self.running, "candidates", "approve", row.id, "--json")
            self.demo.check("approved", "promoted", answer["status"])

    async def again(self) -> None:
        """Run the same day again: every cell is skipped by its lock; forced, nothing is left to do."""
        handles = [
            await self.jobs.enqueue(task, trigger=Trigger.BACK_FILL, reference_time=fire)
            for task in TASKS
            if task.name not in ADDED
            for fire in fires(task, self.day, self.day + timedelta(days=1))
        ]
        results = [await self._result(handle) for handle in handles]
        skipped = sum("skipped" in result for result in results)
        self.demo.check("the same day again: skipped", len(handles), skipped)
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
            "organisations after the dry run", DELETED + ORGANIZATIONS, await self._count(organizations)
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
            expected = await transaction.scalar(select(func.sum(rate_limits.c.api_calls_count)))
            before = await transaction.scalar(select(func.sum(usage_history.c.api_calls))) or 0
        self.running.workers.pop().kill()
        handle = await self.jobs.enqueue(
            task_named("aggregate_usage"), trigger=Trigger.MANUAL, reference_time=now, force=True
        )
        await self._until(lambda: self._has_begun(str(handle.id)), "the aggregation to begin")
        self.running.workers.pop().kill()
        self.demo.event("worker killed with -9 in the middle of aggregate_usage")
        with start_worker(self.running.environment, 9) as successor:
            await self._result_of(handle, successor)
        async with self.database.reading() as transaction:
            history = await transaction.scalar(select(func.sum(usage_history.c.api_calls))) or 0
            current = await transaction.scalar(select(func.sum(rate_limits.c.api_calls_count)))
        self.demo.check("calls in the history after the kill", expected, history - before)
        self.demo.check("calls left in the counters", 0, current)

    async def _check_the_day(self) -> None:
        await self._check_forecasts()
        live = organizations.c.deleted_at.is_(None)
        headless = await self._count(organizations, organizations.c.stripe_customer_id.is_(None) & live)
        deferred = await self._count(notification_deliveries, notification_deliveries.c.status == "deferred")
        archived = await self._count(watchpoints, watchpoints.c.status == "archived")
        async with self.database.reading() as transaction:
            closed = await transaction.scalar(select(func.sum(usage_history.c.api_calls)))
            raised = list(await transaction.scalars(select(alerts.c.name)))
        check = self.demo.check
        check("calls closed into the history", self.calls, closed)
        check("digests asked for", self._expected_digests(), self.items["trigger_digests"])
        check("watchpoints archived", self.items["archive_watchpoints"], archived)
        check("deferred deliveries left", 0, deferred)
        check("drift corrected", DRIFTING, await self._count(billing_drifts))
        check("organisations without a customer", 0, headless)
        check("canary alerts", ["CanaryFalseTrigger"], raised)

    async def _check_forecasts(self) -> None:
        failed = select(forecast_runs.c.failure_reason).where(forecast_runs.c.status == RunStatus.FAILED)
        async with self.database.reading() as transaction:
            reasons = [str(reason) for reason in await transaction.scalars(failed)]
        running = await self._count(forecast_runs, forecast_runs.c.status == RunStatus.RUNNING)
        check = self.demo.check
        check("forecasts running at the end", 0, running)
        check("forecasts that failed", 2, len(reasons))
        check("one was stopped after 20 minutes", True, "Timeout" in reasons)
        check(
            "one was given up after three submissions", True, any("3 submissions" in why for why in reasons)
        )
        check("old forecasts deleted", self.seeded["old"], self.items["transition_forecasts"])
        check("verifications asked for", self.seeded["to_verify"], self.items["verification"])

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

    def _expected_digests(self) -> int:
        last = self.day + timedelta(hours=23)
        zones, times = seed.ZONES, seed.TIMES
        due = 0
        for number in range(ORGANIZATIONS):
            given = {
                "timezone": zones[number % len(zones)],
                "digest": {"schedule": times[number % len(times)]},
            }
            at = next_digest(given, self.day - timedelta(seconds=1)).at
            due += at is not None and at <= last
        return due

    async def _note(self, task: TaskSpec, hour: int, handle: JobHandle[dict[str, Any]]) -> None:
        result = await self._result(handle)
        self.items[task.name] = self.items.get(task.name, 0) + result.get("items", 0)
        cells = self.cells.setdefault(task.name, [" "] * 24)
        cells[hour] = _worse(cells[hour], _sign(result))
        self.demo.row(task.name, day="".join(cells), items=self.items[task.name])
        for warning in result.get("warnings", ()):
            if warning not in self.told:  # the mirrors fail all day
                self.told.add(warning)
                self.demo.event(f"{task.name}: {warning[:110]}")

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

    async def _until(self, is_done: Callable[[], Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await is_done():  # noqa: ASYNC110 - what it waits for is in other processes
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise DemoFailed(f"waited {PATIENCE_SECONDS} s for {what}") from None

    async def _no_run_is_left(self) -> bool:
        """Tell whether the provider has nothing more to do: what hangs hangs, what failed waits for the next hour."""
        jobs = await provider(self.running, "GET", "/local/jobs")
        busy = {job["id"] for job in jobs if not job["ended_at"] and job["fault"] != "hang"}
        good = {job["id"] for job in jobs if job["status"] == "COMPLETED"}
        async with self.database.reading() as transaction:
            running = set(
                await transaction.scalars(
                    select(forecast_runs.c.external_id).where(forecast_runs.c.status == RunStatus.RUNNING)
                )
            )
        return not busy and not running & good

    async def _is_calibrated(self) -> bool:
        jobs = await provider(self.running, "GET", "/local/jobs")
        asked = [job for job in jobs if job["input"]["task_type"] == "calibration"]
        return len(asked) == self.items["update_calibration"] and all(job["ended_at"] for job in asked)

    async def _has_sent(self, number: int) -> bool:
        return await self._count(sent_mails) >= number

    async def _has_begun(self, job_id: str) -> bool:
        async with self.database.reading() as transaction:
            items = await transaction.scalar(
                select(task_runs.c["items"])
                .where(task_runs.c.job_id == job_id)
                .where(task_runs.c.status == "running")
            )
        return bool(items and items > 5)

    async def _count(self, table: Any, condition: Any = None) -> int:
        query = select(func.count()).select_from(table)
        async with self.database.reading() as transaction:
            return int(await transaction.scalar(query if condition is None else query.where(condition)) or 0)


def _sign(result: dict[str, Any]) -> str:
    """Say what a run came to: failed, skipped, changed something, had nothing to do."""
    if "failed" in result:
        return "F"
    if "skipped" in result:
        return "s"
    return "#" if result["items"] else "."


def _worse(one: str, other: str) -> str:
    return min(one, other, key="Fs#. ".index)
