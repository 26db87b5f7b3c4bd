"""Three teams, a large messy file, a killed worker, Redis away, a service that says wait, corrected rows, an undo."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.testing import PrivatePostgres
from backstay_aeon.actions import imports, submit, watch
from backstay_aeon.demo.generate import CUSTOMERS, correct_workbook, messy
from backstay_aeon.domain.imports.columns import read_dataset
from backstay_aeon.jobs import build
from backstay_aeon.settings import Settings
from backstay_aeon.store import imports as store
from backstay_aeon.store import people
from backstay_parts.demo import Demo, DemoFailed, run_demo
from backstay_parts.faults import Answer, FaultProxy
from backstay_parts.servers import PrivateRedis, ServerProcess, free_port
from backstay_parts.servers.process import answers_http

COLUMNS = ["team", "import", "rows", "refused", "state"]


def main(*, rows: int, keep: bool) -> int:
    """Tell the story."""
    stack = ExitStack()

    async def story(demo: Demo) -> None:
        await Story(demo, stack, rows).tell()

    try:
        return run_demo("Aeon", COLUMNS, story, argv=["--keep"] if keep else [])
    finally:
        stack.close()


class Story:
    """What is shown, in order."""

    def __init__(self, demo: Demo, stack: ExitStack, rows: int) -> None:
        self.demo, self.stack, self.rows = demo, stack, rows
        self.with_redis = os.environ.get("AEON_REDIS", "on").lower() not in ("off", "false", "0", "no")
        self.environment: dict[str, str] = {}
        self.redis: Any = None
        self.workers: dict[str, ServerProcess] = {}

    async def tell(self) -> None:
        """Everything."""
        await asyncio.to_thread(self.start_servers)
        self.here = build(Settings.from_environment(self.environment))
        try:
            await self.here.migrate()
            self.teams = {
                name: await people.add_team(self.here.database, name) for name in ("Nord", "Süd", "Ost")
            }
            for team in self.teams.values():
                async with self.here.database.connection() as connection:
                    await store.save_dataset(connection, team, read_dataset("customers", CUSTOMERS))
            await asyncio.to_thread(self.start_ours)
            await self.large_import()
            await self.redis_away()
            await self.service_says_wait()
            await self.correct()
            await self.undo()
            await self.sums()
        finally:
            await self.here.close()

    def start_servers(self) -> None:
        """Private PostgreSQL and Redis, a folder for files."""
        self.demo.event(
            "starting private PostgreSQL" + (" and Redis" if self.with_redis else ", without Redis")
        )
        postgres = self.stack.enter_context(PrivatePostgres.start(fsync=False))
        postgres.create_database("aeon_saas_dev")
        self.environment = {
            "AEON_DATABASE_URL": postgres.url("aeon_saas_dev"),
            "AEON_STORAGE": f"folder:{self.demo.folder / 'files'}",
            "AEON_SECRET": secrets.token_hex(32),
            "AEON_REDIS": "on" if self.with_redis else "off",
            "AEON_ALLOW_SOURCES": "127.0.0.1",
            "POLL_INTERVAL": "1000",
        }
        if self.with_redis:
            self.redis = self.stack.enter_context(PrivateRedis())
            self.environment["AEON_REDIS_URL"] = self.redis.redis_url

    def start_ours(self) -> None:
        """Workers general, data-import and reports, and the service."""
        for kind in ("general", "data-import", "reports"):
            self.workers[kind] = self.stack.enter_context(self.worker(kind))
        port = free_port()
        command = [sys.executable, "-m", "backstay_aeon", "serve", "--port", str(port)]
        own = ServerProcess(
            command, port=port, name="service", env=self.environment, is_ready=answers_http("/login")
        )
        self.stack.enter_context(own)
        self.demo.link("pages", own.url)

    def worker(self, kind: str) -> ServerProcess:
        """A worker of one type."""
        environment = {
            **self.environment,
            "WORKER_ID": f"worker-{kind}",
            "WORKER_TYPE": kind,
            "MAX_CONCURRENT_JOBS": "2",
        }
        if kind == "general":
            environment["JOB_TYPES"] = "*"
        return ServerProcess(
            [sys.executable, "-m", "backstay_aeon", "worker"],
            port=free_port(),
            name=f"worker-{kind}",
            env=environment,
            is_ready=lambda server: server.is_running,
        )

    async def begin(self, team: str, name: str, content: bytes) -> UUID:
        """Upload a file for a team."""
        return await imports.begin(
            self.here, self.teams[team], None, name=name, content=content, dataset="customers"
        )

    async def ended(self, job: str, seconds: int = 150) -> Any:
        """The job when it has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = await self.here.app.jobs.get(job)
            if found.is_finished or found.state.value == "dead":
                return found
            await asyncio.sleep(0.2)
        raise DemoFailed(f"job {job} did not end: {await self.here.app.doctor.why(job)}")

    async def large_import(self) -> None:
        """Dry run, then the import itself, killed at 40 %, with two small teams beside it."""
        content, self.truth = await asyncio.to_thread(messy, self.rows, seed=7, prefix="N")
        self.big = await self.begin("Nord", "kunden.csv", content)
        job = await imports.start(self.here, self.teams["Nord"], None, self.big, dry_run=True)
        await self.ended(job)
        figures = (await imports.show(self.here, self.teams["Nord"], self.big))["dry_run"]
        self.demo.event(
            f"dry run: {figures['new']:,} new · {figures['changed']} changed · {figures['refused']:,} refused"
            f" {figures['reasons']}"
        )
        self.demo.check("dry run: new", self.truth.good, figures["new"])
        self.demo.check("dry run: reasons", self.truth.refused, figures["reasons"])
        self.big_job = await imports.start(self.here, self.teams["Nord"], None, self.big)
        report = await self.report_after(self.big_job)
        small = await self.small_teams()
        await self.kill_at(0.4)
        ends = [await self.small_ended(team, made, started) for team, (made, started) in small.items()]
        done = await self.ended(self.big_job, 300)
        self.demo.check("small teams were done before the large one", True, max(ends) < done.finished_at)
        await self.large_import_ended(done)
        given = (await self.ended(report)).result["input"]["import_id"]
        self.demo.check("the report started by itself, with the import's id", str(self.big), given)

    async def report_after(self, job: str) -> str:
        """A report that waits for the result of a job."""
        given = {
            "job_type": "report_gen",
            "payload": {"report": "import_quality", "format": "pdf", "period": {"days": 1}},
            "depends_on": [{"job_id": job, "type": "data", "into": "input"}],
        }
        return str((await submit.create(self.here, self.teams["Nord"], None, given))["job_id"])

    async def small_ended(self, team: str, made: UUID, started: str) -> datetime:
        """When the import of a small team had ended."""
        done = await self.ended(started)
        took = (done.finished_at - done.created_at).total_seconds()
        shown = await imports.show(self.here, self.teams[team], made)
        self.demo.event(f"{team}: 500 rows beside it, done after {took:.1f} s")
        figures = {"import": "500 rows", "rows": shown["counts"]["inserted"], "state": done.state.value}
        self.demo.row(team, **figures)
        ended: datetime = done.finished_at
        return ended

    async def large_import_ended(self, done: Any) -> None:
        """The outcome of the large import."""
        shown = await imports.show(self.here, self.teams["Nord"], self.big)
        for note in shown["notes"]:
            self.demo.event(f"Nord: {note}")
        self.demo.row(
            "Nord",
            **{
                "import": f"{self.rows:,} rows",
                "rows": shown["counts"]["inserted"],
                "state": done.state.value,
            },
            refused=shown["counts"]["refused"],
        )
        counts = shown["counts"]
        self.demo.check("rows inserted", self.truth.good, counts["inserted"])
        self.demo.check(
            "rows in file = inserted + refused", self.rows, counts["inserted"] + counts["refused"]
        )
        self.demo.check("went on after the kill", True, bool(shown["notes"]))

    async def small_teams(self) -> dict[str, tuple[UUID, str]]:
        """Two teams that must not wait for the large one."""
        found = {}
        for number, team in enumerate(("Süd", "Ost")):
            content, _ = messy(500, seed=number, prefix=team[0], share=0.0)
            made = await self.begin(team, f"{team}.csv", content)
            found[team] = (made, await imports.start(self.here, self.teams[team], None, made))
        return found

    async def kill_at(self, share: float) -> None:
        """kill -9 of whichever worker runs the large import, and start it anew."""
        while True:
            job = await self.here.app.jobs.get(self.big_job)
            if job.is_finished:
                raise DemoFailed(f"the import ended before it could be killed: {job.state.value} {job.error}")
            if job.progress and job.progress.current >= share * self.rows:
                break
            await asyncio.sleep(0.1)
        kind = next(name for name in self.workers if (job.worker or "").startswith(f"worker-{name}"))
        at, former = time.monotonic(), job.worker
        await asyncio.to_thread(self.workers[kind].kill)
        self.demo.event(f"kill -9 of worker-{kind} at row {job.progress.current:,.0f}")
        while True:
            job = await self.here.app.jobs.get(self.big_job)
            if job.state.value == "running" and job.worker != former:
                break
            await asyncio.sleep(0.1)
        self.demo.event(f"taken back and running again after {time.monotonic() - at:.1f} s, on {job.worker}")
        self.workers[kind] = await asyncio.to_thread(lambda: self.stack.enter_context(self.worker(kind)))

    async def report(self, priority: int = 5) -> float:
        """One report from submission to start, in seconds."""
        given = {
            "job_type": "report_gen",
            "priority": priority,
            "payload": {"report": "import_quality", "format": "xlsx", "period": {"days": 1}},
        }
        made = await submit.create(self.here, self.teams["Nord"], None, given)
        done = await self.ended(made["job_id"])
        return float((done.started_at - done.created_at).total_seconds())

    async def redis_away(self) -> None:
        """Redis stops for ten seconds; jobs go on."""
        before = await self.report()
        if self.redis is None:
            self.demo.event(f"without Redis a report starts after {before * 1000:.0f} ms")
            return
        await asyncio.to_thread(self.redis.kill)
        later = await self.reports_for_tomorrow(3)
        until = time.monotonic() + 10
        waits = []
        while time.monotonic() < until:
            waits.append(await self.report())
        await asyncio.to_thread(self.redis.start)
        self.demo.event(
            f"Redis away for 10 s: {len(waits)} reports ran, started after {max(waits) * 1000:.0f} ms at most"
            f" ({before * 1000:.0f} ms with Redis)"
        )
        self.demo.check("reports ran without Redis", True, len(waits) > 0)
        rebuilt = await self.here.app.rebuild_dispatch()
        self.demo.check("jobs for tomorrow are in Redis after a rebuild", len(later), rebuilt.later)
        for job in later:
            await self.here.app.jobs.cancel(job, reason="the demonstration ends", by="demo")

    async def reports_for_tomorrow(self, number: int) -> list[str]:
        """Jobs that Redis does not hear of, because it is away."""
        given = {
            "job_type": "report_gen",
            "payload": {"report": "job_summary"},
            "scheduled_for": datetime.now(UTC) + timedelta(days=1),
        }
        made = [await submit.create(self.here, self.teams["Ost"], None, given) for _ in range(number)]
        return [str(one["job_id"]) for one in made]

    async def service_says_wait(self) -> None:
        """An import from an address whose service answers 429 first."""
        folder = self.demo.folder / "source"
        folder.mkdir(exist_ok=True)
        (folder / "more.csv").write_bytes(messy(50, seed=3, prefix="W", share=0.0)[0])
        port = free_port()
        command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "-d", str(folder)]
        source = self.stack.enter_context(ServerProcess(command, port=port, name="source"))
        proxy = self.stack.enter_context(FaultProxy.before(source.url))
        proxy.next_faults([Answer(429, headers=(("Retry-After", "6"),))])
        given = {
            "job_type": "data_import",
            "payload": {"source": f"{proxy.url}/more.csv", "dataset": "customers"},
        }
        made = await submit.create(self.here, self.teams["Ost"], None, given)
        job = await self.here.app.jobs.get(made["job_id"])
        while not job.is_retrying and not job.is_finished:
            await asyncio.sleep(0.1)
            job = await self.here.app.jobs.get(made["job_id"])
        if job.is_retrying:
            self.demo.event(
                f"the service asks to wait; next try {job.run_at:%H:%M:%S} ({(job.error or {}).get('message')})"
            )
        done = await self.ended(made["job_id"])
        self.demo.check("import after 429", ("completed", 2), (done.state.value, done.attempt))

    async def correct(self) -> None:
        """The refused rows, corrected as a person would, into the same import."""
        content = await imports.rejects(self.here, self.teams["Nord"], self.big)
        corrected = await asyncio.to_thread(correct_workbook, content)
        job = await imports.resubmit(self.here, self.teams["Nord"], None, self.big, "fixed.xlsx", corrected)
        await self.ended(job)
        shown = await imports.show(self.here, self.teams["Nord"], self.big)
        self.demo.event(
            f"corrected rows sent back: {sum(self.truth.refused.values()):,} → {shown['counts']['refused']} refused"
        )
        self.demo.check("refused after correction", 0, shown["counts"]["refused"])
        keys = await self.here.database.value(
            "SELECT count(*) FROM aeon.imported_records WHERE team_id = $1", self.teams["Nord"]
        )
        self.demo.check("records of Nord", self.rows, keys)
        receipt = await imports.receipt(self.here, self.teams["Nord"], self.big)
        self.demo.check("receipt holds", [], await imports.verify(self.here, receipt))

    async def undo(self) -> None:
        """Süd's import is taken back."""
        made = await self.here.database.value(
            "SELECT id FROM aeon.imports WHERE team_id = $1", self.teams["Süd"]
        )
        job = await imports.undo(self.here, self.teams["Süd"], None, made)
        await self.ended(job)
        left = await self.here.database.value(
            "SELECT count(*) FROM aeon.imported_records WHERE team_id = $1", self.teams["Süd"]
        )
        self.demo.check("records of Süd after undo", 0, left)

    async def sums(self) -> None:
        """A validation failure as a dead letter, the promises, the alerts."""
        made = await self.begin("Ost", "empty.csv", b" \n")
        job = await imports.start(self.here, self.teams["Ost"], None, made)
        await self.ended(job)
        letter = await self.here.database.row(
            "SELECT failure_reason, total_attempts FROM public.dead_letter_jobs WHERE original_job_id = $1",
            UUID(job),
        )
        found = None if letter is None else (letter["failure_reason"], letter["total_attempts"])
        self.demo.check("dead letter", ("validation_error", 1), found)
        await self.promises()
        await self.alarms()

    async def promises(self) -> None:
        """Six promises; that of completion is reckoned here once more."""
        promises = {one["name"]: one for one in await watch.slos(self.here)}
        for one in promises.values():
            value = "–" if one["value"] is None else f"{one['value']:.1f}"
            self.demo.event(
                f"promise {one['name']}: {value} {one['unit']} ({one['target']}): {one['verdict']}"
            )
        rows = await self.here.database.rows(
            "SELECT status, count(*) AS jobs FROM public.jobs GROUP BY status"
        )
        jobs = {row["status"]: row["jobs"] for row in rows}
        self.demo.check("promises told", 6, len(promises))
        self.demo.check("dead letters of all jobs", 1, jobs.get("dead_letter"))
        share = round(100 * jobs["completed"] / (jobs["completed"] + 1), 1)
        self.demo.check("completion rate", share, round(promises["completion rate"]["value"], 1))
        self.demo.check("the outage is seen", True, promises["worker uptime"]["value"] < 100)
        runs = await self.here.database.value(
            "SELECT count(*) FROM public.job_executions WHERE status = 'completed'"
        )
        self.demo.check("completed attempts = completed jobs", jobs["completed"], runs)

    async def alarms(self) -> None:
        """The killed worker was told, by the workers that were left."""
        await watch.look(self.here)
        told = await self.here.database.rows("SELECT rule, fired_at, cleared_at FROM aeon.alerts ORDER BY id")
        for alert in told:
            self.demo.event(
                f"alert {alert['rule']} at {alert['fired_at']:%H:%M:%S}, cleared: {alert['cleared_at'] or 'no'}"
            )
        self.demo.check("worker_down was told", True, "worker_down" in {alert["rule"] for alert in told})
