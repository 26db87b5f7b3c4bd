"""The stage of the story: private servers, the application, its pages, and short ways to look at its rows."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import UTC, date, datetime, time
from typing import Any

from backstay.testing import PrivatePostgres
from backstay_oblicore.demo.cast import PASSWORD, Cast, gather
from backstay_oblicore.jobs import build
from backstay_oblicore.services import Services
from backstay_oblicore.settings import Settings
from backstay_parts.demo import Demo, DemoFailed
from backstay_parts.mail import MailServer
from backstay_parts.servers import ModelServer, ServerProcess, answers_http, free_port
from backstay_parts.sms import SmsServer


class Stage:
    """Everything that runs while the story is told, and after it if it is kept."""

    demo: Demo
    services: Services
    cast: Cast
    mail: MailServer
    sms: SmsServer

    def __init__(self) -> None:
        self._servers = ExitStack()
        self.today = datetime.now(UTC).date()

    async def open(self, demo: Demo) -> None:
        """Start the servers, make the tables, gather the people, open the pages."""
        self.demo = demo
        postgres = self._servers.enter_context(PrivatePostgres.start(fsync=False))
        self.mail = self._servers.enter_context(MailServer(folder=demo.folder / "mail"))
        self.sms = self._servers.enter_context(SmsServer())
        model = self._servers.enter_context(ModelServer("backstay_oblicore_reader"))
        await asyncio.to_thread(postgres.create_database, "oblicore")
        port = free_port()
        settings = Settings(
            postgres.url("oblicore"),
            storage_url=f"folder:{demo.folder / 'files'}",
            mail_url=f"smtp://{self.mail.host}:{self.mail.port}",
            mail_sender="oblicore@brindle.example",
            sms_url=self.sms.url,
            sms_account=self.sms.account,
            sms_token=self.sms.token,
            model_url=model.base_url,
            model_key=model.api_key,
            public_url=f"http://127.0.0.1:{port}",
        )
        self.services = build(settings)
        await self.services.prepare()
        self.cast = await gather(self.services)
        command = [sys.executable, "-m", "backstay_oblicore", "serve", "--port", str(port), "--no-worker"]
        pages = ServerProcess(
            command, port=port, name="pages", env=settings.environment(), is_ready=answers_http("/login")
        )
        await asyncio.to_thread(self._servers.enter_context, pages)
        demo.event(f"pages at {settings.public_url}, password “{PASSWORD}”")
        demo.event("as owner@brindle.example, staff@brindle.example or consultant@green.example")

    async def close(self) -> None:
        """End everything that was started."""
        if hasattr(self, "services"):
            await self.services.close()
        await asyncio.to_thread(self._servers.close)

    async def run(self, kind: str, at: date | datetime, **args: Any) -> Any:
        """Run one kind as of a day, and wait for its result."""
        moment = at if isinstance(at, datetime) else datetime.combine(at, time(9), UTC)
        handle = await self.services.handlers[kind].enqueue(reference_time=moment, **args)
        return await handle.result(timeout=240)

    async def until(self, holds: Callable[[], Awaitable[bool]], what: str, *, seconds: float = 300) -> None:
        """Wait for something that happens in other processes, where there is no event to wait for."""
        try:
            async with asyncio.timeout(seconds):
                while not await holds():  # noqa: ASYNC110 - see above
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise DemoFailed(f"waited {seconds:g} seconds for {what}") from None

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker as a process of its own."""
        command = [sys.executable, "-m", "backstay", "worker", "backstay_oblicore.service:app"]
        log = (self.demo.folder / "worker.log").open("ab")
        environment = {**os.environ, **self.services.settings.environment()}
        return subprocess.Popen(  # noqa: S603 - our own program
            [*command, "--concurrency", "2"], env=environment, stdout=log, stderr=log
        )

    async def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """Let a worker die without a word."""
        os.kill(worker.pid, signal.SIGKILL)
        await asyncio.to_thread(worker.wait)

    async def value(self, query: str, *args: Any) -> Any:
        """Return one value."""
        async with self.services.database.connection() as connection:
            return await connection.fetchval(query, *args)

    async def rows(self, query: str, *args: Any) -> list[Any]:
        """Return rows."""
        async with self.services.database.connection() as connection:
            found: list[Any] = await connection.fetch(query, *args)
            return found
