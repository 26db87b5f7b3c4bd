"""How does a test or a benchmark get a PostgreSQL server of its own?"""

from __future__ import annotations

import asyncio
import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import asyncpg
import psutil

from backstay.errors import BackstayError
from backstay.testing.ports import free_port
from backstay.testing.postgres_binaries import find_or_install_binaries

StopMode = Literal["smart", "fast", "immediate"]

START_TIMEOUT_SECONDS = 60
PORT_ATTEMPTS = 5

DEFAULT_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "logging_collector": "off",
}
UNSAFE_BUT_QUICK: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}

# Standard input stays open for as long as the parent lives, however it dies; then the server goes too.
WATCHDOG = 'cat >/dev/null; "$1" stop -D "$2" -m immediate -s >/dev/null 2>&1; rm -rf "$2" "$3" 2>/dev/null'


class PrivatePostgresError(BackstayError):
    """A program of the private server failed; `program`, `output` and `log` say which, and why."""

    def __init__(self, program: str, output: str, *, log: str = "") -> None:
        told = " / ".join(line.strip() for line in (output + log).splitlines()[-8:] if line.strip())
        super().__init__(
            f"{program} of the private PostgreSQL server failed: {told or 'it gave no reason'}. "
            "Check free disk space, memory and that its directory can be read by the user it runs as"
        )
        self.program, self.output, self.log = program, output, log


class PrivatePostgres:
    """A PostgreSQL server for one process: free port, own directory, gone when the process is.

    It listens on 127.0.0.1 and a Unix socket, trusts every local user, and never touches another server.
    As root, the programs run as `postgres` or `nobody`, because PostgreSQL refuses to run as root.

        with PrivatePostgres.start(fsync=False) as server:
            server.create_database("orders")
            connection = await asyncpg.connect(server.url("orders"))
    """

    def __init__(self, *, binaries: Path, data: Path, home: Path, owner: str | None) -> None:
        self.data = data
        self.home = home
        self.port = 0
        self._owner = owner
        self._group = pwd.getpwnam(owner).pw_gid if owner is not None else None
        self._other_groups: tuple[int, ...] | None = () if owner is not None else None
        self._starter = os.getpid()
        self._binaries = self._reachable(binaries)
        self._log = home / "server.log"
        self._watchdog = self._watch_parent()
        self._is_closed = False
        atexit.register(self.close)

    @classmethod
    def start(
        cls,
        *,
        settings: Mapping[str, str] | None = None,
        fsync: bool = True,
        directory: Path | str | None = None,
        find_binaries: Callable[[], Path] = find_or_install_binaries,
    ) -> PrivatePostgres:
        """Create a fresh cluster, start it and wait until it accepts connections.

        `settings` go into postgresql.conf. With `fsync=False` data survives a crash of the server but not of
        the machine. `directory` holds the data (in a new folder, removed at the end) instead of /tmp.

        Raises `PostgresNotFound` without PostgreSQL programs, `PrivatePostgresError` when one of them fails.
        """
        binaries = find_binaries()
        owner = _unprivileged_user() if os.geteuid() == 0 else None
        home = _new_directory(_short_temporary_directory(), owner)
        data = _new_directory(Path(directory), owner) if directory is not None else home / "data"
        server = cls(binaries=binaries, data=data, home=home, owner=owner)
        try:
            server._initialise(
                {**DEFAULT_SETTINGS, **({} if fsync else UNSAFE_BUT_QUICK), **(settings or {})}
            )
            server._start_on_free_port()
        except BaseException:
            server.close()
            raise
        return server

    def url(self, database: str = "postgres") -> str:
        """The address of a database of this server, as `asyncpg.connect` and Backstay take it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """The process id of the server. Raises `PrivatePostgresError` while it is stopped."""
        pid_file = self.data / "postmaster.pid"
        if not pid_file.exists():
            raise PrivatePostgresError("postgres", "it is not running; call start_again() first")
        return int(pid_file.read_text().splitlines()[0])

    def create_database(self, name: str, template: str | None = None) -> None:
        """Create a database, empty or as a copy of `template` (to which nobody may be connected)."""
        copied = ("TEMPLATE", _quoted_name(template)) if template is not None else ()
        self._execute(" ".join(("CREATE DATABASE", _quoted_name(name), *copied)))

    def drop_database(self, name: str) -> None:
        """Drop a database if it exists, disconnecting its users."""
        self._execute(" ".join(("DROP DATABASE IF EXISTS", _quoted_name(name), "WITH (FORCE)")))

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start on the same port; `immediate` is a crash with recovery."""
        self.stop(mode)
        self.start_again()

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server and keep its data."""
        self._run("pg_ctl", "stop", "-D", str(self.data), "-m", mode, "-w", "-s")

    def start_again(self) -> None:
        """Start a stopped or killed server on the port it had."""
        patience = ("-w", "-t", str(START_TIMEOUT_SECONDS))
        self._run("pg_ctl", "start", "-D", str(self.data), "-l", str(self._log), "-s", *patience)

    def kill(self) -> None:
        """Kill every process of the server at once, as a power cut would."""
        postmaster = psutil.Process(self.pid)
        # The parent must not see a child die first: it would begin a recovery of its own.
        postmaster.send_signal(signal.SIGSTOP)
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=START_TIMEOUT_SECONDS)

    def close(self) -> None:
        """Stop the server and remove everything it wrote; calling it again does nothing."""
        # A forked child carries this object and its exit handler, but the server is its parent's.
        if self._is_closed or os.getpid() != self._starter:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        # The watchdog's one job is to stop the server and clear up, so an ordinary end asks it as well.
        self._watchdog.communicate()
        for directory in (self.data, self.home):
            shutil.rmtree(directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reachable(self, binaries: Path) -> Path:
        """Copy programs that the owner may not read, such as those of a virtual environment below /root."""
        if self._owner is None or self._may_run(binaries):
            return binaries
        package = binaries.parent.parent
        for folder in package.parent.glob(f"{package.name}*"):
            if folder.is_dir():
                shutil.copytree(folder, self.home / folder.name, symlinks=True)
        return self.home / binaries.relative_to(package.parent)

    def _may_run(self, binaries: Path) -> bool:
        probe = [str(binaries / "pg_ctl"), "--version"]
        try:
            return self._execute_program(probe).returncode == 0
        except PermissionError:
            return False

    def _watch_parent(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", WATCHDOG, "sh", self._binaries / "pg_ctl", self.data, self.home],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            user=self._owner,
            group=self._group,
            extra_groups=self._other_groups,
            start_new_session=True,
        )

    def _initialise(self, settings: Mapping[str, str]) -> None:
        options = ("--auth=trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
        self._run("initdb", "-D", str(self.data), *options)
        self._configure({**settings, "unix_socket_directories": str(self.home)})

    def _configure(self, settings: Mapping[str, str]) -> None:
        """Append to postgresql.conf, where the last line of a name wins."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{_escaped(value)}'\n" for name, value in settings.items())

    def _start_on_free_port(self) -> None:
        """Try again where another program took the port between our look and the server's start."""
        for remaining in reversed(range(PORT_ATTEMPTS)):
            self.port = free_port()
            self._configure({"port": str(self.port)})
            try:
                return self.start_again()
            except PrivatePostgresError as error:
                if remaining == 0 or "could not bind" not in error.log:
                    raise
                self._log.unlink()

    def _run(self, program: str, *arguments: str) -> None:
        done = self._execute_program([str(self._binaries / program), *arguments])
        if done.returncode != 0:
            log = self._log.read_text(errors="replace") if self._log.exists() else ""
            raise PrivatePostgresError(program, done.stdout, log=log)

    def _execute_program(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.home,
            env={**os.environ, "HOME": str(self.home), "LC_ALL": "C"},
            user=self._owner,
            group=self._group,
            extra_groups=self._other_groups,
            check=False,
        )

    def _execute(self, statement: str) -> None:
        """Run one statement from a thread, so that a caller on a running event loop may wait for it too."""

        async def connect_and_execute() -> None:
            connection = await asyncpg.connect(self.url())
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(asyncio.run, connect_and_execute()).result()


def _unprivileged_user() -> str:
    known = {entry.pw_name for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    raise PrivatePostgresError(
        "postgres",
        "root may not run it; add a user 'postgres' or 'nobody' to this machine",
    )


def _short_temporary_directory() -> Path:
    """Prefer /tmp: the path of a Unix socket has room for 107 bytes, which macOS's own choice uses up."""
    short = Path("/tmp")  # noqa: S108 -- only the parent; the directory itself is made by mkdtemp
    return short if short.is_dir() else Path(tempfile.gettempdir())


def _new_directory(parent: Path, owner: str | None) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="backstay-pg-", dir=parent))
    if owner is not None:
        shutil.chown(directory, user=owner)
    return directory


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
