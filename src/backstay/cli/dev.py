"""`backstay dev`: a worker that starts again when the code changes, and the dashboard beside it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from backstay.cli import printing
from backstay.cli.dashboard import DEFAULT_PORT, PortOption, has_web
from backstay.cli.dashboard_process import DashboardProcess
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.cli.worker import (
    ApplicationArgument,
    ConcurrencyOption,
    KindsOption,
    LogLevelOption,
    QueuesOption,
)
from backstay.cli.working import Chosen, LogFormat, LogLevel

LOOK_EVERY = 0.3
GRACE = "2s"
"""Who changes code does not want to wait: what still runs is given back and starts again with the new code."""

PATIENCE = 15.0
NOT_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist"})

WatchOption = Annotated[
    list[Path] | None,
    typer.Option("--watch", metavar="DIRECTORY", help="Where the code is; otherwise here. May be repeated."),
]
DashboardOption = Annotated[
    bool, typer.Option("--dashboard/--no-dashboard", help="Serve the dashboard as well.", show_default=False)
]


@command
def dev(
    session: Session,
    application: ApplicationArgument,
    queues: QueuesOption = None,
    kinds: KindsOption = None,
    concurrency: ConcurrencyOption = None,
    log_level: LogLevelOption = None,
    watch: WatchOption = None,
    with_dashboard: DashboardOption = True,
    port: PortOption = DEFAULT_PORT,
) -> None:
    """Run a worker that starts again when a .py file changes, and the dashboard; the tables are made first."""
    chosen = Chosen(
        application=application,
        url=session.url,
        debug=session.debug,
        queues=queues,
        kinds=kinds,
        concurrency=concurrency,
        shutdown_grace=GRACE,
        log=LogFormat.CONSOLE,
        log_level=log_level or LogLevel(session.settings().log_level),
        migrate=True,
    )
    beside = DashboardProcess(application, session.url, port) if with_dashboard and has_web() else None
    Reloading(chosen, watch or [Path.cwd()], beside).run()


@dataclass
class Reloading:
    """A child process that is replaced whenever the source it was started from has changed."""

    chosen: Chosen
    directories: Sequence[Path]
    dashboard: DashboardProcess | None = None
    signals: list[int] = field(default_factory=list)
    child: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Go on until a signal comes."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            self._run()
        finally:
            if self.dashboard is not None:
                self.dashboard.stop()

    def _run(self) -> None:
        while not self.signals:
            if self.dashboard is not None:
                self.dashboard.ensure()
            before = snapshot(self.directories)
            ours, theirs = socket.socketpair()
            with ours:
                self.child = self._start(theirs)
                changed = self._wait_for_change(before)
                if changed and not self.signals:
                    printing.note(f"{changed} has changed: starting again.")
                self._end_child()

    def _start(self, theirs: socket.socket) -> subprocess.Popen[bytes]:
        """Start the worker, tied to this process: when it is killed, the worker leaves as well."""
        with theirs:
            # In a session of its own, so that Ctrl-C reaches the child once, from here, and not twice.
            return subprocess.Popen(  # noqa: S603 - our own command
                replace(self.chosen, supervised=str(theirs.fileno())).command(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def _wait_for_change(self, before: dict[str, int]) -> str | None:
        told = False
        while not self.signals:
            time.sleep(LOOK_EVERY)
            if changed := first_difference(before, snapshot(self.directories)):
                return changed
            if not (told or self.signals) and self.child is not None and self.child.poll() is not None:
                told = True
                printing.note("The worker has ended; it starts again when the code changes.")
        return None

    def _end_child(self) -> None:
        if self.child is None or self.child.poll() is not None:
            return
        if not self.signals:
            self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(timeout=None if self.signals else PATIENCE)
        except subprocess.TimeoutExpired:
            # It does not leave by itself: a second signal ends it, and its jobs come back when their leases end.
            self.child.send_signal(signal.SIGTERM)
            self.child.wait()

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self.signals.append(number)
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)


def snapshot(directories: Sequence[Path]) -> dict[str, int]:
    """When each source file was changed last."""
    return dict(changed for directory in directories for changed in _files(directory))


def first_difference(before: dict[str, int], after: dict[str, int]) -> str | None:
    """The name of a file that was changed, added or removed."""
    return next((name for name, _ in sorted(before.items() ^ after.items())), None)


def _files(directory: Path) -> Iterator[tuple[str, int]]:
    for place, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name not in NOT_SOURCE and not name.startswith(".")]
        for name in files:
            if name.endswith(".py"):
                path = Path(place, name)
                try:
                    yield str(path), path.stat().st_mtime_ns
                except FileNotFoundError:
                    # Editors replace files: this one is gone for a moment.
                    continue
