"""Traces the way of one job through the files: enqueue, then claim, run and settle.

`make walk` prints it and writes docs/explanation/walk.md. Each half is traced three times, warm, on SQLite; what is
not in all three is left out. The second half begins with the hint that a job is there. A file counts as domain unless
it is plumbing (the seam to the database, rows, hints, the environment, log lines) or stands beside the way: duties
and watches that every hint or tick wakes, whatever becomes of the job.
"""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "backstay"
PAGE = ROOT / "docs" / "explanation" / "walk.md"
TIMES = 3

PLUMBING = ("stores/database/", "stores/rows.py", "runtime/", "settings/", "wakeups/", "model/job.py")
PLUMBING += ("handle.py", "worker/wake_event.py", "composition/loop_resources.py")
BESIDE = (
    "maintenance/",
    "worker/heartbeat.py",
    "worker/watchdog.py",
    "worker/loop_monitor.py",
    "client/waiting.py",
)
HINT = "SqliteWakeups.listen.<locals>.from_anywhere"

APPLICATION = """
from backstay import Backstay

app = Backstay("sqlite:///{file}")

@app.job
async def greet(name: str) -> str:
    return f"Hello, {{name}}!"
"""
MIGRATE = "import asyncio, walked; asyncio.run(walked.app.migrate())"
ONE_MORE = "from walked import greet; greet.enqueue_sync(name='Ada')"

Step = tuple[str, str]


@dataclass
class Trace:
    """The functions of Backstay that were called while it was on, in the order of their first calls."""

    on: bool = False
    is_armed: bool = False
    steps: dict[Step, None] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take note of a call; a coroutine that goes on is called anew, and counts once."""
        if event == "call" and (self.on or self.is_armed):
            code = frame.f_code
            if self.is_armed and code.co_qualname == HINT:
                self.on, self.is_armed = True, False
            if (
                self.on
                and code.co_filename.startswith(str(SOURCE))
                and not code.co_qualname.endswith("<lambda>")
            ):
                file = code.co_filename.removeprefix(f"{SOURCE}/")
                self.steps.setdefault((file, code.co_qualname))

    @contextmanager
    def recording(self, *, from_hint: bool = False) -> Iterator[None]:
        """Be on, from an empty list: at once, or when a worker is told of a job."""
        self.steps, self.on, self.is_armed = {}, not from_hint, from_hint
        try:
            yield
        finally:
            self.on = self.is_armed = False


def sort_of(file: str) -> str:
    """What a file is for the way of a job."""
    if file.startswith(BESIDE):
        return "beside"
    return "plumbing" if file.startswith(PLUMBING) else "domain"


def common(runs: list[dict[Step, None]]) -> list[Step]:
    """What every run has called, in the order of the first one."""
    return [step for step in runs[0] if all(step in run for run in runs[1:])]


async def walk(trace: Trace, folder: Path) -> tuple[list[Step], list[Step]]:
    """Both halves of the way."""
    from walked import app, greet  # type: ignore[import-not-found]  # written by main

    jobs, enqueued, run = [], [], []
    for _ in range(TIMES + 1):
        with trace.recording():
            jobs.append(await greet.enqueue(name="Ada"))
        enqueued.append(trace.steps)
    async with app.working():
        for job in jobs:
            await job.result()
        for _ in range(TIMES + 1):
            with trace.recording(from_hint=True):
                other = await asyncio.create_subprocess_exec(sys.executable, "-c", ONE_MORE, cwd=folder)
                await other.wait()
                await asyncio.sleep(0.1)
            run.append(trace.steps)
    await app.close()
    return common(enqueued[1:]), common(run[1:])


def section(title: str, steps: list[Step]) -> str:
    """A table: each file once, in the order of the way, with the functions called in it."""
    functions: dict[str, list[str]] = {}
    for file, name in steps:
        functions.setdefault(file, []).append(name.replace(".<locals>", ""))
    sorts = [sort_of(file) for file in functions]
    changes = sum(a[0] != b[0] for a, b in itertools.pairwise(steps))
    rows = "\n".join(
        f"| `{file}` | {sort_of(file)} | {', '.join(f'`{name}`' for name in names)} |"
        for file, names in functions.items()
    )
    return (
        f"## {title}\n\n{sorts.count('domain')} files of the domain, {sorts.count('plumbing')} of plumbing, "
        f"{sorts.count('beside')} beside the way, {len(steps)} functions, {changes} changes of file.\n\n"
        f"| file | sort | functions |\n| --- | --- | --- |\n{rows}\n"
    )


def main() -> None:
    """Trace, print, write the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "walked.py").write_text(APPLICATION.format(file=folder / "walk.db"))
        sys.path.insert(0, name)
        subprocess.run(
            [sys.executable, "-c", "import asyncio, walked; asyncio.run(walked.app.migrate())"],
            cwd=name,
            check=True,
        )
        trace = Trace()
        threading.setprofile(trace)
        sys.setprofile(trace)
        enqueue, run = asyncio.run(walk(trace, folder))
        sys.setprofile(None)
    text = (
        "# The way of one job, traced\n\n"
        "`make walk` writes this page: one warm job of an `async def` handler, on SQLite, with default settings.\n"
        "What carries the job without deciding anything about it is plumbing; duties and watches that every hint or "
        "tick wakes stand beside the way.\n\n"
        + section("Enqueue", enqueue)
        + "\n"
        + section("Claim, run, settle", run)
    )
    PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
