"""A message broker wakes workers where one is set; without it, or while it is away, they look by themselves."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from passport_world import World

from backstay import Backstay
from backstay_parts.servers import free_port
from backstay_passport.actions import snapshots
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.jobs import build
from backstay_passport.services import Services
from backstay_passport.settings import QUEUE_URL, Settings

PATIENCE_SECONDS = 100
RABBIT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


def settings_with(tmp_path: Path, queue_url: str, poll: timedelta) -> Settings:
    """Settings with a broker."""
    given = {"BPC_QUEUE_ENABLED": "true", "BPC_QUEUE_URL": queue_url}
    url = f"sqlite:///{tmp_path / 'queue.db'}"
    return replace(Settings.from_environment(given), database_url=url, poll_interval=poll)


async def done_while_working(services: Services, app: Backstay) -> str:
    """Ask for a job while a worker is idle, and return the word for how it ended."""
    world = World(services)
    async with app.working(concurrency=1):
        await asyncio.sleep(1)
        snapshot_id = await asyncio.to_thread(snapshots.create, services, world.tenant, "s")
        # Not in a transaction of our own, of which no broker can know when it is committed.
        job = await asyncio.to_thread(
            services.enqueue, "BUILD_SNAPSHOT", world.tenant, snapshot_id=snapshot_id
        )
        job_id = job.id
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := await app.jobs.get(job_id)).is_finished:
                await asyncio.sleep(0.1)
    return services.app.profile.word_for(found.state, found.attempt, found.reason)


def test_the_broker_is_a_setting(tmp_path: Path) -> None:
    """BPC-048: off unless it is asked for; an address that is none is refused without being shown."""
    assert Settings.from_environment({}).queue_url is None
    assert Settings.from_environment({"BPC_QUEUE_ENABLED": "true"}).queue_url == QUEUE_URL
    wanted = {"BPC_QUEUE_ENABLED": "true", "BPC_QUEUE_URL": "http://me:secret@x"}
    with pytest.raises(InvalidInput, match="BPC_QUEUE_URL") as caught:
        Settings.from_environment(wanted)
    assert "secret" not in str(caught.value)
    services = build(settings_with(tmp_path, "amqp://127.0.0.1:1/", timedelta(seconds=1)))
    assert services.app.settings.wakeups == "amqp://127.0.0.1:1/"
    services.close()


async def test_a_broker_that_is_away_stops_nothing(tmp_path: Path) -> None:
    """BPC-001, BPC-048, TC-P1-01: an idle worker polls, and finds the job that nobody could announce."""
    nobody = f"amqp://guest:guest@127.0.0.1:{free_port()}/"
    services = build(settings_with(tmp_path, nobody, timedelta(milliseconds=200)))
    await services.app.migrate()
    assert await done_while_working(services, services.app) == "SUCCEEDED"
    await services.app.close()
    services.close()


@pytest.fixture
def rabbit(tmp_path: Path) -> Iterator[str]:
    """A broker of the test's own; it installs nothing, and is left out where there is none."""
    if not RABBIT.exists() and not shutil.which("rabbitmq-server"):
        pytest.skip("there is no RabbitMQ server here")
    port = free_port()
    home = tmp_path / "rabbit"
    home.mkdir()
    environment = {
        **os.environ,
        "HOME": str(home),
        "RABBITMQ_NODENAME": f"passport{port}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(home),
        "RABBITMQ_LOG_BASE": str(home),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(home / "none"),
    }
    process = subprocess.Popen(
        [str(RABBIT)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for_port(port, process)
        yield f"amqp://guest:guest@127.0.0.1:{port}/"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(10 * PATIENCE_SECONDS):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, "the broker has ended"
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
    raise TimeoutError("the broker does not answer")


@pytest.mark.prove
@pytest.mark.timeout(400)
async def test_a_broker_wakes_a_worker_that_would_not_look_for_an_hour(tmp_path: Path, rabbit: str) -> None:
    """BPC-048: with a real RabbitMQ the job is done at once, though the worker looks once an hour only."""
    services = build(settings_with(tmp_path, rabbit, timedelta(hours=1)))
    await services.app.migrate()
    assert await done_while_working(services, services.app) == "SUCCEEDED"
    await services.app.close()
    services.close()
