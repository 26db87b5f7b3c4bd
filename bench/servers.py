"""Where do the servers come from? Each run starts its own, on free ports, and takes them down."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from backstay.testing import PrivatePostgres

START_SECONDS = 60
# Peers on Redis get it as fast as it goes: nothing is written to disk. Their rows say so.
REDIS_SETTINGS = {"appendonly": "no", "save": ""}
# As users run it: what is committed is on the disk. The rest is PostgreSQL's default.
POSTGRES_SETTINGS = {"shared_buffers": "128MB", "synchronous_commit": "on", "max_connections": "200"}
RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class NoServer(Exception):
    """A server could not be started; the text says which and why."""


class Servers:
    """Starts each server when somebody first needs it; `close` ends all."""

    def __init__(self, redis_settings: dict[str, str] = REDIS_SETTINGS) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="backstay-bench-"))
        self.redis_settings = redis_settings
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started: dict[str, object] = {}
        self._names: list[str] = []

    @property
    def postgres(self) -> PrivatePostgres:
        """PostgreSQL with fsync."""
        found = self._once("postgres", lambda: PrivatePostgres.start(settings=POSTGRES_SETTINGS, fsync=True))
        assert isinstance(found, PrivatePostgres)
        return found

    def url(self, store: str, name: str) -> str:
        """A new database, number in Redis or file for this contestant alone; what it had before is gone."""
        name = "".join(letter if letter.isalnum() else "_" for letter in name)
        if name not in self._names:
            self._names.append(name)
        match store:
            case "postgres":
                self.postgres.drop_database(name)
                self.postgres.create_database(name)
                return self.postgres.url(name)
            case "redis":
                return f"redis://127.0.0.1:{self._once('redis', self._redis)}/{self._names.index(name)}"
            case "rabbitmq":
                return f"amqp://guest:guest@127.0.0.1:{self._once('rabbitmq', self._rabbitmq)}/%2F"
            case _:
                shutil.rmtree(self._folder / name, ignore_errors=True)
                (self._folder / name).mkdir()
                return f"sqlite:///{self._folder / name / 'jobs.db'}"

    def close(self) -> None:
        """Stop what was started, and remove what it wrote."""
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if isinstance(server := self._started.get("postgres"), PrivatePostgres):
            server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _once(self, name: str, start: Callable[[], object]) -> object:
        if name not in self._started:
            self._started[name] = start()
        return self._started[name]

    def _redis(self) -> int:
        program = shutil.which("redis-server")
        if program is None:
            raise NoServer("redis-server is not on the PATH")
        port = _free_port()
        settings = {
            **self.redis_settings,
            "bind": "127.0.0.1",
            "port": str(port),
            "databases": "64",
            "dir": str(self._folder),
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        self._start([program, *options], {}, port, "redis-server")
        return port

    def _rabbitmq(self) -> int:
        if not RABBITMQ.exists():
            raise NoServer(f"{RABBITMQ} is not there")
        port, between_nodes, folder = _free_port(), _free_port(), self._folder / "rabbitmq"
        folder.mkdir()
        (folder / "enabled_plugins").write_text("[].")
        environment = {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"bench{os.getpid()}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(between_nodes),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_CONFIG_FILE": str(folder / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        }
        self._start([str(RABBITMQ)], environment, port, "rabbitmq-server")
        return port

    def _start(self, command: list[str], environment: dict[str, str], port: int, name: str) -> None:
        log = self._folder / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                start_new_session=True,
            )
        self._processes.append(process)
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                told = " / ".join(log.read_text(errors="replace").split("\n")[-4:])
                raise NoServer(f"{name} did not start within {START_SECONDS} s: {told}")
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
