"""The servers of the demonstration: a database, pages, two workers, a receiver that fails first."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from backstay.testing import PrivatePostgres
from backstay_parts.demo import DemoFailed
from backstay_parts.servers import ServerProcess, free_port
from backstay_parts.webhooks import WebhookReceiver
from backstay_passport.domain.signing import KEY_VARIABLE
from backstay_passport.jobs import build
from backstay_passport.services import Services
from backstay_passport.settings import Settings

COMMAND = [sys.executable, "-m", "backstay_passport"]
FIRST_ANSWERS: list[int | dict[str, int]] = [500, 503, {"delay": 2}]


class Stage:
    """Everything that runs beside the story; `close` ends it."""

    def __init__(self, folder: Path, *, port: int, postgres: bool) -> None:
        self._stack = ExitStack()
        self.folder = folder
        self.port = port
        url = self._database(folder, postgres=postgres)
        self.receiver = self._stack.enter_context(WebhookReceiver())
        self.environment = {
            **os.environ,
            "BPC_DATABASE_URL": url,
            KEY_VARIABLE: base64.b64encode(secrets.token_bytes(32)).decode(),
            "BPC_SIGNING_KEY_ID": "demo-key-1",
            "BPC_COMPILER_BUILD_ID": "demo-build",
            "BPC_PUBLIC_URL": f"http://127.0.0.1:{port}",
            "BPC_WEBHOOK_ALLOW": f"127.0.0.1:{self.receiver.port}",
        }
        # The signing key is read when it is needed, by this process too.
        os.environ.update(
            {name: self.environment[name] for name in self.environment if name.startswith("BPC_")}
        )
        self.services: Services = build(Settings.from_environment(self.environment))
        self._stack.callback(self.services.close)
        self.workers: list[ServerProcess] = []

    def migrate(self) -> None:
        """Make the tables."""
        done = self.command("migrate")
        if done.returncode:
            raise DemoFailed(f"the tables were not made: {done.stdout}{done.stderr}")

    def open(self) -> None:
        """Start pages and two workers."""
        self.receiver.plan(FIRST_ANSWERS)
        serve = ServerProcess(
            [*COMMAND, "serve", "--port", str(self.port)], port=self.port, name="pages", env=self.environment
        )
        self._stack.enter_context(serve)
        self.workers = [self.start_worker(number) for number in (1, 2)]

    def start_worker(self, number: int) -> ServerProcess:
        """Start a worker."""
        worker = ServerProcess(
            [*COMMAND, "worker", "--concurrency", "4"],
            port=free_port(),
            name=f"worker-{number}",
            env={**self.environment, "BPC_WORKER_ID": f"demo-{number}"},
            is_ready=lambda server: server.is_running,
        )
        return self._stack.enter_context(worker)

    def command(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the application in a process of its own."""
        return subprocess.run(  # noqa: S603 - our own program
            [*COMMAND, *arguments],
            env={**self.environment, **changes},
            capture_output=True,
            text=True,
            check=False,
        )

    def close(self) -> None:
        """End everything that was started."""
        self._stack.close()

    def _database(self, folder: Path, *, postgres: bool) -> str:
        if not postgres:
            return f"sqlite:///{folder / 'passports.db'}"
        server: Any = self._stack.enter_context(PrivatePostgres.start(fsync=False))
        server.create_database("passports")
        return str(server.url("passports"))
