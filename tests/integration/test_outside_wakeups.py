"""Hints through Redis and RabbitMQ: they arrive, end with their server, and come back with it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import aio_pika
import pytest
from redis.asyncio import Redis

from backstay import Backstay
from backstay.composition.connect import open_wakeups
from backstay.errors import InvalidSettings
from backstay.runtime.env import SYSTEM
from backstay.testing import PrivatePostgres
from backstay.wakeups.contract import ANYTHING, Wakeups, queue_hint
from backstay.wakeups.rabbitmq import RabbitWakeups

DATABASE = "postgresql:///shop"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def program(name: str, package: str) -> str:
    """Find a server's program; as root, install its package where it is missing."""
    found = shutil.which(name)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        sys.stderr.write(f"Installing {package}, which these tests start servers of.\n")
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], check=True)
        found = shutil.which(name)
    assert found is not None, f"these tests need {name}: install your system's package {package}"
    return found


class OwnServer:
    """A server of the test's own, which it may kill."""

    def __init__(self, command: Sequence[str], port: int, **environment: str) -> None:
        self._command, self._port, self._environment = command, port, environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self._environment},
            start_new_session=True,
        )
        by = time.monotonic() + 100
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1):
                return
            assert time.monotonic() < by
            assert self._process.poll() is None
            time.sleep(0.05)

    def kill(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Carrier(NamedTuple):
    url: str
    server: OwnServer


def own_redis(folder: Path) -> Carrier:
    port = free_port()
    listening = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder))
    server = OwnServer([program("redis-server", "redis-server"), *listening], port)
    return Carrier(f"redis://127.0.0.1:{port}/0", server)


def own_rabbit(folder: Path) -> Carrier:
    # The program on the path only changes the user, and forgets what the environment says.
    program("rabbitmq-server", "rabbitmq-server")
    port = free_port()
    server = OwnServer(
        ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
        port,
        HOME=str(folder),
        RABBITMQ_NODENAME=f"test{port}@localhost",
        RABBITMQ_NODE_IP_ADDRESS="127.0.0.1",
        RABBITMQ_NODE_PORT=str(port),
        RABBITMQ_DIST_PORT=str(free_port()),
        RABBITMQ_MNESIA_BASE=str(folder),
        RABBITMQ_LOG_BASE=str(folder),
        RABBITMQ_ENABLED_PLUGINS_FILE=str(folder / "plugins"),
        RABBITMQ_CONFIG_FILE=str(folder / "none"),
    )
    return Carrier(f"amqp://guest:guest@127.0.0.1:{port}/", server)


# A broker takes seconds of processor time to start.
CARRIERS = {"redis": own_redis, "rabbitmq": own_rabbit}


@pytest.fixture(params=["redis", pytest.param("rabbitmq", marks=pytest.mark.prove)])
def carrier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Carrier]:
    made = CARRIERS[request.param](tmp_path)
    made.server.start()
    yield made
    made.server.kill()


class Ear:
    """Hears hints in the background, and waits for one."""

    def __init__(self, wakeups: Wakeups) -> None:
        self.heard: list[str] = []
        self._new = asyncio.Event()
        self.task = asyncio.create_task(wakeups.listen(self._hear))

    def _hear(self, hint: str) -> None:
        self.heard.append(hint)
        self._new.set()

    async def until(self, holds: Callable[[list[str]], bool], *, meanwhile: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not holds(self.heard):
                meanwhile()
                self._new.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._new.wait(), timeout=0.2)


@pytest.fixture
async def carriers() -> AsyncIterator[list[Wakeups]]:
    opened: list[Wakeups] = []
    yield opened
    for one in opened:
        await one.close()


def nothing() -> None:
    """Wait, and do nothing else."""


async def test_hints_of_one_process_are_heard_by_another(carrier: Carrier, carriers: list[Wakeups]) -> None:
    carriers += [open_wakeups(carrier.url, DATABASE, SYSTEM) for _ in range(2)]
    sender, listener = carriers
    ear = Ear(listener)
    await ear.until(lambda heard: ANYTHING in heard, meanwhile=nothing)

    sender.send(queue_hint("mail"), queue_hint("import"))

    await ear.until(lambda heard: {queue_hint("mail"), queue_hint("import")} <= set(heard), meanwhile=nothing)
    ear.task.cancel()


async def test_what_is_no_text_ends_nobodys_listening(carrier: Carrier, carriers: list[Wakeups]) -> None:
    carriers += [open_wakeups(carrier.url, DATABASE, SYSTEM) for _ in range(2)]
    sender, listener = carriers
    ear = Ear(listener)
    await ear.until(lambda heard: ANYTHING in heard, meanwhile=nothing)

    await PUBLISHING[urlsplit(carrier.url).scheme](carrier.url, b"\xff\x00\xfe")
    await ear.until(lambda heard: len(heard) > 1, meanwhile=nothing)
    sender.send("of the shop")

    await ear.until(lambda heard: "of the shop" in heard, meanwhile=nothing)
    assert ear.heard.count(ANYTHING) == 1
    ear.task.cancel()


async def publish_in_redis(url: str, content: bytes) -> None:
    async with Redis.from_url(url) as redis:
        await redis.publish("backstay:shop", content)


async def publish_in_rabbit(url: str, content: bytes) -> None:
    async with await aio_pika.connect(url) as connection:
        exchange = await (await connection.channel()).get_exchange("backstay:shop")
        await exchange.publish(aio_pika.Message(content), routing_key="")


PUBLISHING = {"redis": publish_in_redis, "amqp": publish_in_rabbit}


@pytest.mark.prove
async def test_hints_come_back_where_somebody_has_deleted_the_exchange(tmp_path: Path) -> None:
    carrier = own_rabbit(tmp_path)
    carrier.server.start()
    sender, listener = (
        RabbitWakeups(carrier.url, "backstay:shop", SYSTEM, tied_again_after=0.2) for _ in range(2)
    )
    ear = Ear(listener)
    await ear.until(lambda heard: ANYTHING in heard, meanwhile=nothing)

    async with await aio_pika.connect(carrier.url) as connection:
        await (await connection.channel()).exchange_delete("backstay:shop")

    await ear.until(lambda heard: "found" in heard, meanwhile=lambda: sender.send("found"))
    ear.task.cancel()
    await sender.close()
    carrier.server.kill()


async def test_hints_of_another_database_are_not_heard(carrier: Carrier, carriers: list[Wakeups]) -> None:
    carriers += [
        open_wakeups(carrier.url, f"postgresql:///{name}", SYSTEM) for name in ("shop", "bank", "shop")
    ]
    ear = Ear(carriers[0])
    await ear.until(lambda heard: ANYTHING in heard, meanwhile=nothing)

    carriers[1].send("of the bank")
    await asyncio.sleep(0)
    carriers[2].send("of the shop")

    await ear.until(lambda heard: "of the shop" in heard, meanwhile=lambda: carriers[1].send("of the bank"))
    assert "of the bank" not in ear.heard
    ear.task.cancel()


async def test_hints_come_back_with_a_server_that_was_killed(
    carrier: Carrier, carriers: list[Wakeups]
) -> None:
    carriers += [open_wakeups(carrier.url, DATABASE, SYSTEM) for _ in range(2)]
    sender, listener = carriers
    ear = Ear(listener)
    await ear.until(lambda heard: ANYTHING in heard, meanwhile=nothing)

    carrier.server.kill()
    sender.send("lost")
    carrier.server.start()

    await ear.until(lambda heard: heard.count(ANYTHING) >= 2, meanwhile=nothing)
    await ear.until(lambda heard: "found" in heard, meanwhile=lambda: sender.send("found"))
    ear.task.cancel()


async def test_a_worker_behind_a_pooler_hears_of_a_job_through_a_carrier(
    carrier: Carrier, postgres_server: PrivatePostgres
) -> None:
    """Without hints it would look once in an hour."""
    postgres_server.drop_database("outside_wakeups")
    postgres_server.create_database("outside_wakeups")
    url = f"{postgres_server.url('outside_wakeups')}?pooled=true"
    app = Backstay(url, settings={"wakeups": carrier.url, "poll_idle": "1h", "poll_busy": "1h"})

    @app.job
    async def greet(name: str) -> str:
        return f"Hello, {name}!"

    await app.migrate()
    async with app.working():
        async with asyncio.timeout(100):
            greeted = [await (await greet.enqueue(name=name)).result() for name in ("Ada", "Ben")]
    await app.close()

    assert greeted == ["Hello, Ada!", "Hello, Ben!"]


@pytest.mark.parametrize("url", ["kafka://host", "redis", 5])
def test_another_carrier_is_refused_by_name(url: object) -> None:
    with pytest.raises(InvalidSettings, match=r"wakeups cannot be .*redis:// or amqp://"):
        Backstay("sqlite:///jobs.db", settings={"wakeups": url})


def test_the_password_of_a_carrier_is_not_shown() -> None:
    app = Backstay("sqlite:///jobs.db", settings={"wakeups": "redis://:hush@127.0.0.1/0"})

    assert "hush" not in app.settings.chosen["wakeups"].text
