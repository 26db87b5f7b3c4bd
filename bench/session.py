"""How does the harness talk to a contestant? One process that enqueues and counts, and worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from bench.contestants import Contestant
from bench.install import CACHE, ROOT, Place

ANSWER_SECONDS = 120
STOP_SECONDS = 10


class ContestantFailed(Exception):
    """An adapter died, did not answer, or did not finish; the text says what it last printed."""


class Session:
    """One contestant with its own database, its adapter, and a folder where handlers tell what they did."""

    def __init__(self, contestant: Contestant, place: Place, url: str) -> None:
        self.contestant, self.url = contestant, url
        self._place = place
        self.meter = Meter(Path(tempfile.mkdtemp(prefix="backstay-bench-meter-")))
        self._log = self.meter.folder / "printed.log"
        self._client = self._start("serve", 1, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.about = self.ask("open")
        except ContestantFailed:
            self.close()
            raise

    def ask(self, do: str, *, seconds_allowed: float = ANSWER_SECONDS, **arguments: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        assert self._client.stdin is not None
        assert self._client.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._client.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._client.stdin.flush()
        ready, _, _ = select.select([self._client.stdout], [], [], seconds_allowed)
        line = self._client.stdout.readline() if ready else b""
        if not line:
            what = "ended" if ready else f"gave no answer within {seconds_allowed:.0f} s"
            raise ContestantFailed(f"{self.contestant.name} {what} at '{do}': {self.last_words()}")
        answer = json.loads(line)
        assert isinstance(answer, dict)
        return answer

    @contextlib.contextmanager
    def workers(self, processes: int, *, results: bool = False, every: int = 1) -> Iterator[Workers]:
        """Worker processes, stopped at the end whatever happens; they keep results only if those are wanted.

        Their handlers tell of each `every`-th job, unless they have to tell of all.
        """
        starts = 1 if self.contestant.brings_processes else processes
        each = processes if self.contestant.brings_processes else 1
        started = [self._start("work", each, results=results, every=every) for _ in range(starts)]
        workers = Workers(started, self)
        try:
            yield workers
        finally:
            workers.stop()

    def last_words(self) -> str:
        """The end of what the adapter and its workers printed."""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return " / ".join(lines[-3:])[:600] or "it printed nothing"

    def hang_up(self) -> None:
        """End the adapter, so that only workers are left."""
        _stop([self._client])

    def close(self) -> None:
        """End the adapter and forget its files."""
        _stop([self._client])
        if self._log.exists():
            kept = CACHE / "logs" / f"{self.contestant.name.replace(' ', '-')}.log"
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(self._log, kept)
        shutil.rmtree(self.meter.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(
        self, role: str, processes: int, *, results: bool = True, every: int = 1, **pipes: Any
    ) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "BENCH_URL": self.url,
            "BENCH_METER": str(self.meter.folder),
            "BENCH_PROCESSES": str(processes),
            "BENCH_EVERY": str(every),
            "BENCH_RESULTS": "1" if results else "0",
            **({"BENCH_OPTION": self.contestant.option} if self.contestant.option else {}),
            "PYTHONPATH": str(ROOT),
        }
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*self._place.program, role],
                cwd=self._place.folder,
                env=environment,
                start_new_session=True,
                stderr=log,
                **{"stdin": subprocess.DEVNULL, "stdout": log, **pipes},
            )


@dataclass(frozen=True)
class Meter:
    """Reads what handlers wrote; see `bench.adapter.Meter`."""

    folder: Path

    def handled(self) -> int:
        """How many jobs were begun at least."""
        return sum((records - 1) * every + 1 for every, records in self._records())

    def handled_at_most(self) -> int:
        """The same with those that were not told yet."""
        return sum(records * every for every, records in self._records())

    def last(self) -> int:
        """When, by the clock that all processes share, the last handler that was told of began."""
        return max(times[-1] for _, times in self._times())

    def all_at_work(self, processes: int) -> tuple[int, int] | None:
        """When the last of so many processes began its first job, and how many jobs were handled before.

        None when some of them never had one.
        """
        told = self._times()
        begun = sorted(times[0] for _, times in told)
        if len(begun) < processes:
            return None
        first = begun[processes - 1]
        return first, sum(every * sum(time < first for time in times) for every, times in told)

    def started(self) -> dict[int, int]:
        """When handlers of jobs that were sent at some moment started, by that moment, in microseconds."""
        records = (path.read_bytes() for path in self.folder.glob("*.started-*"))
        return {sent: started for record in records for sent, started in struct.iter_unpack("<QQ", record)}

    def _records(self) -> list[tuple[int, int]]:
        """What a record of a process stands for, and how many it has written."""
        sizes = ((_every(path), path.stat().st_size // 8) for path in self.folder.glob("*.handled-*"))
        return [(every, records) for every, records in sizes if records]

    def _times(self) -> list[tuple[int, list[int]]]:
        told = []
        for path in self.folder.glob("*.handled-*"):
            times = [time for (time,) in struct.iter_unpack("<Q", path.read_bytes())]
            if times:
                told.append((_every(path), times))
        return told

    def clear(self) -> None:
        """Forget what was told; no worker may be running."""
        for path in (*self.folder.glob("*.handled-*"), *self.folder.glob("*.started-*")):
            path.unlink()


def _every(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


@dataclass(frozen=True)
class Memory:
    """In bytes: the share of all processes together (PSS), and what the largest of them has resident (RSS).

    A page that several processes have is divided among them in the first, and counted in full in the second.
    """

    shares: int
    largest: int


class Workers:
    """Running worker processes of one contestant."""

    def __init__(self, processes: list[subprocess.Popen[bytes]], session: Session) -> None:
        self._processes, self.session = processes, session

    def check(self) -> None:
        """Raise `ContestantFailed` if one has ended by itself."""
        for process in self._processes:
            if process.poll() is not None:
                name = self.session.contestant.name
                raise ContestantFailed(
                    f"a worker of {name} ended with {process.returncode}: {self.session.last_words()}"
                )

    def tree(self) -> list[psutil.Process]:
        """Every process of the workers, with what they started."""
        found: list[psutil.Process] = []
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                root = psutil.Process(process.pid)
                found += [root, *root.children(recursive=True)]
        return found

    def cpu_seconds(self) -> float:
        """Processor time used so far, children that have ended included."""
        total = 0.0
        for process in self.tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total

    def memory(self) -> Memory:
        """What they use now; both figures come from Linux."""
        shares, residents = [0], [0]
        for process in self.tree():
            with contextlib.suppress(psutil.NoSuchProcess):
                used = process.memory_full_info()
                shares.append(used.pss)
                residents.append(used.rss)
        return Memory(shares=sum(shares), largest=max(residents))

    def stop(self) -> None:
        """End them at once: everything was measured, and goodbyes take some of them seconds."""
        for process in self._processes:
            _signal(process, signal.SIGKILL)
            process.wait()


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(0.1, deadline - time.monotonic()))
        # Also what it left behind in its group.
        _signal(process, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
