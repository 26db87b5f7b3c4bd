"""A worker keeps what it runs: leases are renewed, end with the job, and the numbers are the document's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from passport_world import World

from backstay import Backstay, Job, JobId
from backstay.errors import UnknownKind
from backstay.testing import SyncHarness
from backstay_passport.actions import snapshots, webhooks
from backstay_passport.jobs import build
from backstay_passport.profile import BACKOFF, profile_of
from backstay_passport.settings import Settings

PATIENCE_SECONDS = 90


class HeldReceiver:
    """Takes a webhook at once and answers only when it is let go."""

    def __init__(self) -> None:
        self.let_go = let_go = threading.Event()

        class Held(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                let_go.wait(PATIENCE_SECONDS)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Held)
        self.url = f"http://127.0.0.1:{self._server.server_port}/held"

    def __enter__(self) -> HeldReceiver:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()


async def until(what: Callable[[Job], bool], app: Backstay, job_id: JobId) -> Job:
    """Return the job as soon as it is so."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not what(job := await app.jobs.get(job_id)):
            await asyncio.sleep(0.05)
    return job


async def test_the_lease_of_a_slow_job_is_renewed_until_it_ends(tmp_path: Path) -> None:
    """BPC-001, TC-P0-01, TC-P0-02, TC-P1-04, TC-P1-05: renewed while it runs, gone when it is done."""
    services = build(
        Settings(
            database_url=f"sqlite:///{tmp_path / 'lease.db'}",
            lease_renew=timedelta(seconds=1),
            webhook_allow=("127.0.0.1",),
            webhook_timeout=timedelta(seconds=2 * PATIENCE_SECONDS),
        )
    )
    await services.app.migrate()
    world = World(services)
    with HeldReceiver() as receiver:
        webhooks.add(services, world.tenant, receiver.url, ["SNAPSHOT_CREATED"])
        await asyncio.to_thread(snapshots.create, services, world.tenant, "s")
        app = services.app
        [job] = (await app.jobs.search()).jobs

        async with app.working(concurrency=1):
            leases = [
                (await until(lambda now: now.lease_expires_at is not None, app, job.id)).lease_expires_at
            ]
            for _ in range(2):
                renewed = await until(lambda now: now.lease_expires_at != leases[-1], app, job.id)
                leases.append(renewed.lease_expires_at)
            receiver.let_go.set()
            ended = await until(lambda now: now.is_finished, app, job.id)

    assert None not in leases
    assert leases == sorted(leases)
    assert (ended.lease_expires_at, ended.run) == (None, 1)
    await app.close()
    services.close()


def test_the_numbers_are_those_of_the_document() -> None:
    """BPC-001: poll 1000 ms, lease 60 s, renewal 30 s, 5 attempts, 2^n seconds up to 1024."""
    policy = dict(profile_of(Settings()).policy)  # type: ignore[call-overload]  # a mapping at run time
    assert policy["poll_busy"] == policy["poll_idle"] == timedelta(milliseconds=1000)
    assert (policy["lease"], policy["renew_every"]) == (timedelta(seconds=60), timedelta(seconds=30))
    assert policy["max_attempts"] == 5
    changed = Settings.from_environment({"BPC_JOBS_POLL_INTERVAL_MS": "250", "BPC_JOBS_LEASE_SECONDS": "20"})
    assert changed.poll_interval == timedelta(milliseconds=250)
    assert changed.lease == timedelta(seconds=20)
    assert [BACKOFF.delay(attempt, 0.5).total_seconds() for attempt in (1, 2, 3, 4, 10, 11)] == [
        2,
        4,
        8,
        16,
        1024,
        1024,
    ]


def test_a_job_of_an_unknown_type_is_refused(runner: SyncHarness, world: World) -> None:
    """BPC-001, BPC-052, TC-P1-09: unsupported types are an error when they are stored."""
    with pytest.raises(UnknownKind):
        world.services.app.sync.jobs.enqueue_by_name("PAINT_BATTERY", {})
