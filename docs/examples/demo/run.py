"""The demo behind `make demo`: a shop's jobs on two workers, one of which is killed on the way.

It ends by itself after about 20 seconds; the exit code is 0 only if every job reached its end and none was
completed twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from view import Seen, View

HERE = Path(__file__).parent
KILL_AFTER = 4.0
GIVE_UP_AFTER = 60.0


class Workers:
    """The worker processes, and what they say."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.killed: set[str] = set()
        self.heard: deque[tuple[str, dict[str, object]]] = deque()

    def start(self, name: str) -> None:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py")],
            env={**os.environ, "SHOP_WORKER": name},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.processes[name] = process
        threading.Thread(target=self._listen, args=(name, process), daemon=True).start()

    def kill(self, name: str) -> None:
        self.killed.add(name)
        self.processes[name].send_signal(signal.SIGKILL)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            process.kill()
            process.wait()
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()

    def state(self, name: str) -> str:
        if name in self.killed:
            return "killed"
        return "alive" if self.processes[name].poll() is None else "gone"

    def _listen(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with suppress(ValueError):
                self.heard.append((name, json.loads(line)))
        process.stdout.close()


class Demo:
    """The story, from the first job to the last check."""

    def __init__(self, folder: Path, console: Console, picture: Path | None) -> None:
        self.folder, self.console, self.picture = folder, console, picture
        self.view, self.workers = View(console), Workers()
        self.began = time.monotonic()
        self.rescued = 0
        self._finished: deque[tuple[float, int]] = deque(maxlen=10)

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    async def run(self) -> bool:
        from orders import enqueue_everything

        try:
            with self.view:
                self.workers.start("anna")
                await self._until_started("anna")
                self.workers.start("bert")
                await self._until_started("bert")
                total, found_again = await enqueue_everything()
                self.view.say(self.now, f"{total} jobs enqueued; one of them twice under one key, stored once")
                await self._watch_until_done()
        finally:
            self.workers.stop()
        return await self._report(total, found_again)

    async def _until_started(self, name: str) -> None:
        while not any(who == name and said.get("message") == "worker.started" for who, said in self.workers.heard):
            if self.workers.state(name) == "gone" or self.now > GIVE_UP_AFTER:
                raise SystemExit(f"worker {name} did not start")
            await asyncio.sleep(0.05)
        self.view.say(self.now, f"worker {name} is ready")
        self.workers.heard.clear()

    async def _watch_until_done(self) -> None:
        while True:
            seen = await self._look()
            self._tell()
            self.view.show(seen)
            waiting = seen.total(*[state for state in State if state not in ENDED])
            if self.now > KILL_AFTER + 1 and waiting == 0:
                return
            if not self.workers.killed and self.now > KILL_AFTER:
                await self._kill("bert", replacement="carl")
            if self.now > GIVE_UP_AFTER:
                self.view.say(self.now, f"giving up: {waiting} jobs have not ended", "red")
                return
            await asyncio.sleep(0.15)

    async def _kill(self, name: str, *, replacement: str) -> None:
        # Bert does not do the maintenance: anna came first. Killing the one who does costs up to 20 s more, until
        # another takes over.
        held = await self._held()
        self.workers.kill(name)
        say = self.view.say
        say(self.now, f"SIGKILL for {name}, with {held[name]} jobs in hand", "bold red")
        say(self.now, "they come back when their leases run out: 3 s here, 60 s by default", "yellow")
        self.workers.start(replacement)
        say(self.now, f"worker {replacement} starts in its place")

    def _tell(self) -> None:
        rescued, dead = 0, 0
        while self.workers.heard:
            _, said = self.workers.heard.popleft()
            rescued += said["message"] == "job.rescued"
            dead += said["message"] == "job.dead"
            if said["message"] == "claim.lost":
                self.view.say(self.now, "a late result was refused", "yellow")
        if dead:
            self.view.say(self.now, f"{dead} hopeless job{'s' * (dead > 1)} became dead at once", "red")
        if rescued:
            self.rescued += rescued
            self.view.say(self.now, f"{rescued} jobs of the killed worker were taken back", "bold green")
            if self.picture is not None:
                save_picture(self.view, self.picture)

    async def _look(self) -> Seen:
        seen = Seen(seconds=self.now)
        for count in await app.jobs.counts():
            seen.counts.setdefault(count.kind, {})[count.state] = count.jobs
        done = seen.total(*ENDED)
        self._finished.append((self.now, done))
        since, before = self._finished[0]
        seen.rate = (done - before) / (self.now - since) if self.now > since else 0.0
        held, journal = await self._held(), Counter(line[3] for line in self._journal())
        seen.workers = [
            (name, process.pid, self.workers.state(name), held[name], journal[name])
            for name, process in self.workers.processes.items()
        ]
        return seen

    async def _held(self) -> Counter[str]:
        running = await app.jobs.search(JobFilter(state=State.RUNNING), limit=200)
        return Counter((job.worker or "").rpartition("-")[0] for job in running.jobs)

    def _journal(self) -> list[list[str]]:
        path = self.folder / "journal.txt"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    async def _report(self, total: int, found_again: bool) -> bool:
        from report import report

        return await report(
            app, self._journal(), total=total, found_again=found_again, seconds=self.now, console=self.console
        )


def save_picture(view: View, path: Path) -> None:
    """Keep what is on the screen as an SVG file."""
    recorder = Console(record=True, width=82, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115 - ends with the process
    recorder.print(view.picture())
    recorder.save_svg(str(path), title="make demo")


@contextmanager
def shop_folder(keep: bool) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-demo-", delete=not keep) if sys.version_info >= (3, 12) else tempfile.TemporaryDirectory(prefix="windlass-demo-") as name:
        yield Path(name)


if __name__ == "__main__":
    pass
