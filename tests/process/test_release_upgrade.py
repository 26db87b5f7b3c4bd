"""The frozen release before and this one, side by side on one database, while it is brought up to this one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from backstay import Backstay, State
from backstay.testing import PrivatePostgres

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("upgrade_program.py")
PATIENCE = 60


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Where the code of each release is: the newest frozen one, unpacked, and this one."""
    frozen = sorted((ROOT / "tests" / "releases").glob("backstay-*.whl"))
    if not frozen:
        made = tmp_path_factory.mktemp("wheel")
        tool = ROOT / "tools" / "freeze_release.py"
        subprocess.run([sys.executable, str(tool), "--into", str(made)], check=True, timeout=280)
        frozen = list(made.glob("*.whl"))
    unpacked = tmp_path_factory.mktemp("frozen")
    zipfile.ZipFile(frozen[-1]).extractall(unpacked)
    return {"old": unpacked, "new": ROOT / "src"}


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.db"
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    server.drop_database("upgraded")
    server.create_database("upgraded")
    return server.url("upgraded")


class Crew:
    """Processes of both releases on one database."""

    def __init__(self, url: str, releases: dict[str, Path], folder: Path) -> None:
        self.url, self._releases, self._folder = url, releases, folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, release: str, does: str) -> str:
        name = f"{release} {does} {len(self.processes)}"
        with self._path(name, "out").open("w") as said, self._path(name, "err").open("w") as errors:
            self.processes[name] = subprocess.Popen(
                [sys.executable, str(PROGRAM), self.url, release, does],
                stdout=said,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(self._releases[release])},
            )
        return name

    def run(self, release: str, does: str) -> dict[str, Any]:
        """Start one, and wait for its end."""
        return self.ended(self.start(release, does), is_told=False)

    def ended(self, name: str, *, is_told: bool = True) -> dict[str, Any]:
        """Tell a process to end; everything it said. It must have met no error."""
        process = self.processes.pop(name)
        if is_told:
            process.terminate()
        process.wait(timeout=PATIENCE)
        assert process.returncode == 0, self._path(name, "err").read_text()
        return self.said(name)

    def said(self, name: str) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for line in self._path(name, "out").read_text().splitlines():
            told |= json.loads(line)
        return told

    def ensure_health(self) -> None:
        for name, process in self.processes.items():
            assert process.poll() in (None, 0), self._path(name, "err").read_text()

    def close(self) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()

    def _path(self, name: str, end: str) -> Path:
        return self._folder / f"{name}.{end}"


@pytest.fixture
def crew(empty_url: str, releases: dict[str, Path], tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(empty_url, releases, tmp_path)
    yield crew
    crew.close()


async def test_the_release_before_goes_on_beside_this_one_while_the_tables_change(crew: Crew) -> None:
    crew.run("old", "migrate")
    old_worker, old_store = crew.start("old", "work"), crew.start("old", "store")
    app = Backstay(crew.url)
    await until(crew, lambda: "began" in crew.said(old_store))

    crew.run("new", "migrate")
    new_store = crew.start("new", "store")
    late_worker = crew.start("old", "work")
    new_worker = crew.start("new", "work")
    for name in (old_worker, late_worker, new_worker):
        await until(crew, lambda name=name: crew.said(name).get("ran", 0) >= 50)
    began = {name: crew.said(name)["began"] for name in (old_store, new_store)}
    stored = sum(crew.ended(name)["stored"] for name in (old_store, new_store))
    # What is left is for the new release.
    for name in (old_worker, late_worker):
        crew.ended(name)
    await until_all_done(crew, app, stored)
    crew.ended(new_worker)

    assert not Path(began[old_store]).is_relative_to(ROOT)
    assert began[old_store] != began[new_store]
    await app.close()


async def until(crew: Crew, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            crew.ensure_health()
            await asyncio.sleep(0.05)


async def until_all_done(crew: Crew, app: Backstay, stored: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while await states(app) != {State.COMPLETED: stored}:
            crew.ensure_health()
            await asyncio.sleep(0.05)


async def states(app: Backstay) -> Counter[State]:
    found = Counter[State]()
    for count in await app.jobs.counts():
        found[count.state] += count.jobs
    return +found
