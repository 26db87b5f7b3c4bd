"""What happens in the demo, from the first job to the last."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from pathlib import Path

from app import FOLDER, app
from orders import enqueue_everything
from processes import Processes
from report import report
from rich.console import Console
from view import Seen, View, save_picture

from backstay import State
from backstay.records import JobFilter

ENDED = (State.COMPLETED, State.DEAD, State.RESOLVED, State.CANCELLED)
KILL_AFTER = 4.0
GIVE_UP_AFTER = 60.0


class Story:
    """Two workers, a few hundred jobs, one murder, and a reckoning."""

    def __init__(self, console: Console, picture: Path | None) -> None:
        self.console, self.picture = console, picture
        self.view, self.processes = View(console), Processes()
        self.began = time.monotonic()
        self.has_seen_death = False
        self._done: deque[tuple[float, int]] = deque(maxlen=10)

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    async def tell(self) -> bool:
        """Play it; True if every check held."""
        try:
            with self.view:
                await self._start("anna")
                await self._start("bert")
                total, found_again = await enqueue_everything()
                self._say(f"{total} jobs stored; one came twice under one key and is there once")
                await self._watch()
        finally:
            self.processes.stop()
        holds = await report(
            app, journal(), total=total, found_again=found_again, seconds=self.now, console=self.console
        )
        await app.close()
        return holds

    async def _start(self, name: str) -> None:
        self.processes.start(name)
        while not any(
            who == name and what["message"] == "worker.started" for who, what in self.processes.heard
        ):
            if self.processes.state(name) == "gone" or self.now > GIVE_UP_AFTER:
                raise RuntimeError(f"worker {name} did not start")
            await asyncio.sleep(0.05)
        self._say(f"worker {name} is ready")

    async def _watch(self) -> None:
        stored_at = self.now
        while self.now < GIVE_UP_AFTER:
            seen = await self._look()
            self._tell_events()
            self.view.show(seen)
            if self.processes.killed and seen.total(*ENDED) == seen.total(*State):
                self._say("every job has ended")
                return
            if not self.processes.killed and self.now > stored_at + KILL_AFTER:
                await self._kill("bert", replacement="carl")
            await asyncio.sleep(0.15)
        self._say("giving up: there are jobs that have not ended", "red")

    async def _kill(self, name: str, *, replacement: str) -> None:
        # Anna came first and so does the maintenance. Had she been killed, another worker would have to notice
        # that first, which takes up to 20 s more.
        in_hand = (await in_hands())[name]
        if not in_hand:
            return
        self.processes.kill(name)
        self._say(f"kill -9 for {name}, who has {in_hand} jobs in hand", "bold red")
        self._say("the other worker will see that bert is gone, and take its jobs", "yellow")
        self.processes.start(replacement)
        self._say(f"worker {replacement} starts in {name}'s place")

    def _tell_events(self) -> None:
        heard = Counter[str]()
        while self.processes.heard:
            _, event = self.processes.heard.popleft()
            heard[event["message"]] += 1
        if heard["job.dead"] and not self.has_seen_death:
            self.has_seen_death = True
            self._say("a first dead letter: an address that no retry will make exist", "red")
        if late := heard["claim.lost"]:
            self._say(f"{late} late results refused", "yellow")
        if rescued := heard["job.rescued"]:
            self._say(f"{rescued} jobs were taken back from the killed worker", "bold green")
            if self.picture is not None:
                save_picture(self.view, self.picture)

    async def _look(self) -> Seen:
        seen = Seen(seconds=self.now)
        for count in await app.jobs.counts():
            of_kind = seen.counts.setdefault(count.kind, {})
            of_kind[count.state] = of_kind.get(count.state, 0) + count.jobs
        self._done.append((seen.seconds, seen.total(*ENDED)))
        (since, before), (now, done) = self._done[0], self._done[-1]
        seen.rate = (done - before) / (now - since) if now > since else 0.0
        running, completed = await in_hands(), Counter(worker for *_, worker in journal())
        seen.workers = [
            (name, process.pid, self.processes.state(name), running[name], completed[name])
            for name, process in self.processes.by_name.items()
        ]
        return seen

    def _say(self, text: str, style: str = "") -> None:
        self.view.say(self.now, text, style)


async def in_hands() -> Counter[str]:
    """How many jobs each worker has in hand; a worker's id is its name and a part that is never reused."""
    running = await app.jobs.search(JobFilter(state=State.RUNNING), limit=200)
    return Counter((job.worker or "").rpartition("-")[0] for job in running.jobs)


def journal() -> list[tuple[str, str, str, str]]:
    """What the handlers say they have done: job id, kind, run, worker."""
    path = FOLDER / "journal.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(job_id, kind, run, worker) for job_id, kind, run, worker in map(str.split, lines)]
