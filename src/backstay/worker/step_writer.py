"""Writes what handlers remember and tell: steps at once, many together, and progress once a second."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from backstay.errors import BackstayError, ClaimLost, StoreBusy, StoreError, StoreUnavailable
from backstay.model.events import Emit
from backstay.model.job import Claim, Guard, NewStep, Progress
from backstay.model.signals import Mail
from backstay.runtime.env import Env
from backstay.stores.contract import Signals, Steps, Telling
from backstay.worker.batches import take_batch
from backstay.worker.lock_keeper import LockKeeper
from backstay.worker.wake_event import WakeEvent

T = TypeVar("T")

TELL_EVERY = 1.0
BUSY_AGAIN = 0.25
MOST_AT_ONCE = 1000


class _Finished(NamedTuple):
    claim: Claim
    step: NewStep
    saved: Future[None]


class _Question(NamedTuple):
    """A look into the database, and who waits for what it finds."""

    look: Callable[[Steps, Signals], Awaitable[Any]]
    found: Future[Any]


class StepWriter:
    """Takes notes from any thread and writes them on the loop where `run` is; what waits makes the next batch."""

    def __init__(self, *, emit: Emit, env: Env) -> None:
        self._emit, self._env = emit, env
        self.locks = LockKeeper(env)
        self._finished: deque[_Finished] = deque()
        self._asked: deque[_Question] = deque()
        self._told: dict[Guard, tuple[Claim, Progress]] = {}
        self._sending: dict[Guard, tuple[Claim, Progress]] = {}
        self._telling: Telling | None = None
        self._tell_at = 0.0
        self._writing = asyncio.Lock()
        self._locked: set[asyncio.Task[None]] = set()
        self._wake_event = WakeEvent()

    def save(self, claim: Claim, step: NewStep) -> Future[None]:
        """Remember a step; done when it is stored, ClaimLost if somebody else has the job."""
        saved: Future[None] = Future()
        self._finished.append(_Finished(claim, step, saved))
        self._wake_event.ring()
        return saved

    def results(self, claim: Claim) -> Future[dict[str, str | None]]:
        """Look up what the steps of earlier runs came to."""
        return self._ask(lambda steps, _: steps.results(claim.id))

    def mail(self, claim: Claim) -> Future[Mail]:
        """Look up what a job has received."""
        return self._ask(lambda _, signals: signals.mail(claim.id))

    def _ask(self, look: Callable[[Steps, Signals], Awaitable[T]]) -> Future[T]:
        found: Future[T] = Future()
        self._asked.append(_Question(look, found))
        self._wake_event.ring()
        return found

    def tell(self, claim: Claim, progress: Progress) -> None:
        """Remember the latest progress of a job; it is written once a second."""
        self._told[claim.guard] = (claim, progress)
        self._wake_event.ring()

    def pending_progress(self, guard: Guard) -> Progress | None:
        """What an attempt has told and is not stored yet."""
        # Also what is being written: that may have to wait for the one who asks.
        told = self._told.get(guard) or self._sending.get(guard)
        return None if told is None else told[1]

    def forget(self, guard: Guard) -> None:
        """Drop what an attempt has told, because it is stored by other means."""
        self._told.pop(guard, None)

    @property
    def has_words(self) -> bool:
        """Whether some progress is not stored yet."""
        return bool(self._told) or self._writing.locked()

    async def flush_progress(self, claims: Sequence[Claim]) -> None:
        """Write now what these have told: once they are settled, nobody may."""
        await self._write([claim.guard for claim in claims])

    async def run(self, steps: Steps, telling: Telling, signals: Signals) -> None:
        """Write until cancelled."""
        self._telling = telling
        self._wake_event.attach()
        try:
            while True:
                await self._wake_event.wait(self._until_due())
                while self._asked:
                    await self._look_up(self._asked.popleft(), steps, signals)
                while self._finished:
                    await self._save(steps, take_batch(self._finished, most=MOST_AT_ONCE))
                if self._told and self._until_due() == 0:
                    await self._tell()
        finally:
            self._leave()

    def _until_due(self) -> float | None:
        return max(0.0, self._tell_at - self._env.monotonic()) if self._told else None

    async def _tell(self) -> None:
        self._tell_at = self._env.monotonic() + TELL_EVERY
        try:
            await self._write(list(self._told))
        except StoreError as error:
            self._emit("store.failed", doing="write progress", error=str(error))

    async def _write(self, guards: Sequence[Guard]) -> None:
        assert self._telling is not None, "run comes before the first word"
        # One after the other, or an older word could be written after a newer one.
        async with self._writing:
            told = {guard: self._told.pop(guard) for guard in guards if guard in self._told}
            if not told:
                return
            self._sending = told
            try:
                await self._telling.write(list(told.values()))
            except BaseException:
                for guard, words in told.items():
                    self._told.setdefault(guard, words)
                raise
            finally:
                self._sending = {}
        for claim, progress in told.values():
            facts = {"job_id": str(claim.id), "kind": claim.kind, "attempt": claim.attempt}
            self._emit("job.progressed", **facts, current=progress.current, total=progress.total)

    async def _look_up(self, question: _Question, steps: Steps, signals: Signals) -> None:
        try:
            _give(question.found, await self._until_answered(lambda: question.look(steps, signals)))
        except StoreError as error:
            _refuse(question.found, error)
        except BaseException:
            _refuse(question.found, _cut_off())
            raise

    async def _save(self, steps: Steps, batch: Sequence[_Finished]) -> None:
        try:
            lost = await self._until_answered(lambda: steps.save([(one.claim, one.step) for one in batch]))
        except StoreBusy:
            # Somebody keeps a row locked: each goes on alone, so that only that one has to wait.
            for one in batch:
                task = asyncio.create_task(self._save_alone(steps, one))
                self._locked.add(task)
                task.add_done_callback(self._locked.discard)
            return
        except StoreError as error:
            for one in batch:
                _refuse(one.saved, error)
            return
        except BaseException:
            for one in batch:
                _refuse(one.saved, _cut_off())
            raise
        for one in batch:
            if one.claim.id in lost:
                _refuse(one.saved, ClaimLost([one.claim.id]))
            else:
                _give(one.saved, None)

    async def _save_alone(self, steps: Steps, one: _Finished) -> None:
        await self._env.sleep(BUSY_AGAIN * self._env.random())
        await self._save(steps, [one])

    async def _until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        pause = 0.05
        while True:
            try:
                return await ask()
            except StoreUnavailable as error:
                self._emit("store.failed", doing="remember a step", error=str(error))
            await self._env.sleep(pause * (0.5 + self._env.random()))
            pause = min(pause * 2, 5.0)

    def _leave(self) -> None:
        for task in self._locked:
            task.cancel()
        while self._finished:
            _refuse(self._finished.popleft().saved, _cut_off())
        while self._asked:
            _refuse(self._asked.popleft().found, _cut_off())


def _cut_off() -> BackstayError:
    return BackstayError("the worker has stopped: this attempt cannot remember anything any more")


def _give(future: Future[T], value: T) -> None:
    # The handler may have been stopped while it waited.
    with suppress(InvalidStateError):
        future.set_result(value)


def _refuse(future: Future[T], error: BackstayError) -> None:
    with suppress(InvalidStateError):
        future.set_exception(error)
