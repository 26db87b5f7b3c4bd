"""What the demonstration runs on: a database, a model server, two workers and the pages, all private processes."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from backstay.testing import PrivatePostgres
from backstay_parts.servers import ModelServer, ServerProcess, answers_http, free_port


class WorkerProcess:
    """A worker as a process of its own, which can be killed as by kill -9."""

    def __init__(self, name: str) -> None:
        command = [
            sys.executable,
            "-m",
            "backstay",
            "worker",
            "backstay_exora.jobs:app",
            "--concurrency",
            "2",
        ]
        guard = [sys.executable, "-m", "backstay_parts.servers.guard", *command]
        self._process = subprocess.Popen(  # noqa: S603 - our own command, without a shell
            guard,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "BACKSTAY_WORKER_ID": f"render-{name}"},
        )
        self.name = name

    def kill(self) -> None:
        """End the worker at once; what it has started ends with it."""
        for child in psutil.Process(self._process.pid).children():
            child.send_signal(signal.SIGKILL)
        self._process.wait(20)
        self._close()

    def stop(self) -> None:
        """Let it finish what it runs, and wait for its end."""
        self._close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)

    def _close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()


@dataclass(slots=True)
class Stage:
    """Everything that runs."""

    model: ModelServer
    pages: ServerProcess
    workers: list[WorkerProcess]

    def start_worker(self, name: str) -> None:
        """One more worker."""
        self.workers.append(WorkerProcess(name))

    def kill_worker(self, worker_id: str) -> None:
        """Kill the worker that holds a job, by the id that the job names."""
        for worker in self.workers:
            if worker_id.startswith(f"render-{worker.name}-"):
                worker.kill()
                self.workers.remove(worker)
                return
        raise LookupError(f"no worker of ours is called {worker_id}")


@contextlib.contextmanager
def set_up(folder: Path) -> Iterator[Stage]:
    """Start the servers and set the environment; the application may be imported only inside the block."""
    with PrivatePostgres.start(fsync=False) as server, ModelServer("exora_reader") as model:
        server.create_database("exora")
        port = free_port()
        os.environ.update(
            BACKSTAY_URL=server.url("exora"),
            EXORA_STORAGE=str(folder / "files"),
            EXORA_MODEL_URL=model.base_url,
            EXORA_MODEL_KEY=model.api_key,
            EXORA_RETRY_DELAY="2s",
            EXORA_SECRET=secrets.token_hex(32),
            EXORA_PUBLIC_URL=f"http://127.0.0.1:{port}",
        )
        command = [sys.executable, "-m", "backstay_exora", "serve", "--no-work", "--port", str(port)]
        pages = ServerProcess(command, port=port, name="exora", is_ready=answers_http("/login"))
        stage = Stage(model, pages, [])
        try:
            yield stage
        finally:
            for worker in stage.workers:
                worker.stop()
            pages.close()
