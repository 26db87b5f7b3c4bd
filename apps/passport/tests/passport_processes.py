"""Real worker processes of the tests, and databases to be copied for each of them."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from passport_world import World

from backstay.testing import PrivatePostgres
from backstay_passport.jobs import build
from backstay_passport.settings import Settings

PROGRAM = Path(__file__).with_name("passport_worker.py")


class Workers:
    """Starts worker processes; `close` ends what starts them."""

    def __init__(self) -> None:
        self._starter = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ},
        )

    def run(self, *workers: tuple[str, int]) -> list[tuple[int, str]]:
        """Run workers beside each other until all have ended; return exit codes and what they said."""
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        self._starter.stdin.write(";".join(f"{url} {last}" for url, last in workers) + "\n")
        self._starter.stdin.flush()
        line = self._starter.stdout.readline()
        assert line, "the process that starts workers has ended"
        ended = [one.split(" ", 1) for one in line.rstrip("\n").split("\t")]
        return [(int(code), str(ast.literal_eval(said))) for code, said in ended]

    def close(self) -> None:
        """End it."""
        self._starter.communicate(timeout=60)


class Databases:
    """A prepared database and its copies, on SQLite or PostgreSQL."""

    def __init__(self, folder: Path, server: PrivatePostgres | None, name: str) -> None:
        self._folder, self._server, self._name = folder, server, name
        self._copies = 0
        self.url = self._url("made")
        if server is not None:
            server.create_database(f"{name}made")

    def _url(self, which: str) -> str:
        if self._server is None:
            return f"sqlite:///{self._folder / which}.db"
        return self._server.url(f"{self._name}{which}")

    def copy(self) -> str:
        """Copy the prepared database, which nobody may be using, and return the copy's address."""
        self._copies += 1
        which = f"copy{self._copies}"
        if self._server is None:
            shutil.copy(self._folder / "made.db", self._folder / f"{which}.db")
        else:
            self._server.create_database(f"{self._name}{which}", template=f"{self._name}made")
        return self._url(which)

    def forget(self, url: str) -> None:
        """Throw a copy away."""
        if self._server is None:
            for path in self._folder.glob(f"{Path(url).name}*"):
                path.unlink()
        else:
            self._server.drop_database(url.rsplit("/", 1)[1])


def open_world(url: str, **settings: Any) -> World:
    """An application on this database, with its tables."""
    services = build(
        Settings(database_url=url, build_id="test-build", signing_key_id="test-key-1", **settings)
    )
    services.migrate()
    return World(services)
