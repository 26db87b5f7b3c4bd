"""Where a run takes place: a database, workers behind a proxy each, and a producer behind its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.testing import PrivatePostgres, PrivateRedis
from chaos.history import HISTORY
from chaos.proxy import Proxy

TESTS = Path(__file__).resolve().parents[1]


@dataclass
class Post:
    """One place for a process, with its own way to the database; who holds it changes."""

    name: str
    program: str
    proxy: Proxy
    folder: Path
    settings: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    generation: int = 0
    is_harmed: bool = False

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, **settings: Any) -> None:
        """Put a new process there."""
        self.generation += 1
        given = {
            "url": self.proxy.url,
            "journal": str(self.folder / f"runs-{self.name}-{self.generation}"),
            "events": str(self.folder / f"events-{self.name}-{self.generation}"),
            **self.settings,
            **settings,
        }
        command = [sys.executable, "-m", f"chaos.{self.program}", json.dumps(given)]
        with (self.folder / f"errors-{self.name}").open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(TESTS), **self.environment},
            )

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def has_left(self, *, within: float) -> bool:
        """Wait for its end; False when it does not come."""
        return await comes_true(lambda: not self.is_running, within=within)

    def close(self) -> None:
        if self.process is not None:
            if self.is_running:
                self.process.kill()
            self.process.wait()


@dataclass
class Field:
    """Everything that a fault can touch."""

    server: PrivatePostgres
    url: str
    folder: Path
    lease: float
    environment: dict[str, str] = field(default_factory=dict)
    redis: PrivateRedis | None = None
    workers: list[Post] = field(default_factory=list)
    producer: Post | None = None

    async def prepare(self) -> None:
        """Make the tables, and the journal beside them."""
        database = open_database(self.url)
        await migrate(database)
        await database.close()
        await self.execute(HISTORY)

    async def add_worker(self, **settings: Any) -> Post:
        name = f"worker-{len(self.workers)}"
        post = await self._post(name, "worker", {"lease": self.lease, **settings})
        self.workers.append(post)
        post.start()
        return post

    async def add_producer(self, **settings: Any) -> Post:
        calls = str(self.folder / "calls")
        self.producer = await self._post("producer", "producer", {"calls": calls, "first": 0, **settings})
        self.producer.start()
        return self.producer

    async def _post(self, name: str, program: str, settings: dict[str, Any]) -> Post:
        proxy = Proxy(self.url)
        await proxy.open()
        return Post(name, program, proxy, self.folder, settings, self.environment)

    async def execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    async def value(self, sql: str) -> Any:
        """One value from the database, past every proxy; None while it cannot be reached."""
        try:
            connection = await asyncpg.connect(self.url, timeout=5)
            try:
                return await connection.fetchval(sql)
            finally:
                await connection.close(timeout=5)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            return None

    def note(self, **fault: Any) -> None:
        """Write a fault down, with what shows that it happened."""
        with (self.folder / "faults").open("a") as file:
            file.write(json.dumps({"at": time.monotonic(), **fault}) + "\n")

    async def close(self) -> None:
        posts = [*self.workers, *([self.producer] if self.producer else [])]
        for post in posts:
            post.close()
        for post in posts:
            await post.proxy.close()


async def comes_true(
    condition: Callable[[], Awaitable[Any] | Any], *, within: float, every: float = 0.05
) -> bool:
    """Wait until the condition holds; False when the time is over."""
    give_up = time.monotonic() + within
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return True
        if time.monotonic() > give_up:
            return False
        await asyncio.sleep(every)
