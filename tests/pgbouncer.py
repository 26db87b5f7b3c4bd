"""A private PgBouncer in transaction mode: the installed one, else that of Debian's package, only unpacked."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from backstay.testing import free_port

PROGRAM = "usr/sbin/pgbouncer"
SETTINGS = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
logfile = {folder}/log
pidfile = {folder}/pid
"""


@dataclass(frozen=True)
class Program:
    """PgBouncer on this machine; `libraries` says where to find what it needs, if the machine has that nowhere else."""

    path: str
    libraries: str


@contextmanager
def program() -> Iterator[Program]:
    """The program that is installed, or one that is unpacked for as long as the block lasts."""
    installed = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if installed:
        yield Program(installed, "")
        return
    with _folder_for_all() as folder:
        _download(folder, ["pgbouncer"])
        needed = _run(["dpkg-deb", "--field", *map(str, folder.glob("pgbouncer_*.deb")), "Depends"], folder)
        _download(folder, re.findall(r"\b(?:libevent|libc-ares|libcares)[\w.-]*", needed))
        for package in folder.glob("*.deb"):
            _run(["dpkg-deb", "--extract", str(package), str(folder / "unpacked")], folder)
        libraries = {str(path.parent) for path in (folder / "unpacked").rglob("*.so.*")}
        yield Program(str(folder / "unpacked" / PROGRAM), ":".join(sorted(libraries)))


@contextmanager
def pooler(bouncer: Program, url: str, *, size: int) -> Iterator[str]:
    """Run a pooler with so few sessions before a server; gives the URL of the same database through it."""
    parts, own_port = urlsplit(url), free_port()
    server = {"host": parts.hostname, "port": parts.port, "user": parts.username}
    # It refuses to run as root.
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    environment = {**os.environ, "LD_LIBRARY_PATH": bouncer.libraries}
    with _folder_for_all() as folder:
        settings, log = folder / "settings.ini", folder / "log"
        settings.write_text(SETTINGS.format(**server, own_port=own_port, size=size, folder=folder))
        process = subprocess.Popen(
            [bouncer.path, "-q", str(settings)], env=environment, stdin=subprocess.DEVNULL, **user
        )
        try:
            _wait_for(own_port, process, log)
            yield f"postgresql://{parts.username}@127.0.0.1:{own_port}{parts.path}?pooled=true"
        finally:
            process.kill()
            process.wait()


def _download(folder: Path, packages: list[str]) -> None:
    apt = ["apt-get", "-o", f"Dir::Cache={folder}/cache", "-o", "APT::Sandbox::User="]
    try:
        _run([*apt, "download", *packages], folder)
    except subprocess.CalledProcessError:
        # A fresh machine has no lists of packages, and not everybody may fetch them for all.
        (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        apt += ["-o", f"Dir::State::lists={folder}/lists", "-o", "Debug::NoLocking=1"]
        _run([*apt, "update", "-qq"], folder)
        _run([*apt, "download", *packages], folder)


def _run(command: list[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300).stdout


@contextmanager
def _folder_for_all() -> Iterator[Path]:
    # Folders of tests belong to one user alone, and as root the program runs as another.
    with TemporaryDirectory(prefix="backstay-pooler-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            told = log.read_text() if log.exists() else "nothing"
            assert process.poll() is None, f"PgBouncer left, it had told: {told}"
            assert time.monotonic() < give_up, f"PgBouncer does not answer, it has told: {told}"
            time.sleep(0.05)
