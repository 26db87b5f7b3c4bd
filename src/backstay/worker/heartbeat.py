"""Keeps the leases of what is in hand, and hears of jobs that are to be stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from backstay.errors import StoreError
from backstay.model.events import Emit
from backstay.model.job import Claim, JobId
from backstay.model.outcome import Released, Stopped
from backstay.model.records import Renewed
from backstay.runtime.env import Env
from backstay.stores.contract import Claims
from backstay.worker.run.runner import Runner
from backstay.worker.wake_event import WakeEvent

RETRY_AFTER = (1.0, 2.0, 4.0, 8.0)
LOOK_FOR_CANCELS_EVERY = 0.5


class Heartbeat:
    """Renews on a connection of its own, so that no other work can delay it."""

    def __init__(
        self,
        claims: Claims,
        runner: Runner,
        *,
        unsettled: Callable[[], Sequence[Claim]],
        worker_id: Callable[[], str],
        trust: Callable[[bool], None],
        every: Callable[[], timedelta],
        emit: Emit,
        env: Env,
    ) -> None:
        self._claims, self._runner, self._unsettled, self._worker_id = claims, runner, unsettled, worker_id
        self._trust, self._every, self._emit, self._env = trust, every, emit, env
        self.wake_event = WakeEvent()
        self._failures = 0

    async def run(self) -> None:
        """Renew until cancelled; after a failure sooner, and no new claims until it works again."""
        self.wake_event.attach()
        renew_at = self._env.monotonic() + self._every().total_seconds()
        while True:
            wait = renew_at - self._env.monotonic()
            if wait > 0 and await self.wake_event.wait(wait):
                await self._look_for_cancels()
                # An operator may have made leases shorter meanwhile.
                renew_at = min(renew_at, self._env.monotonic() + self._every().total_seconds())
                continue
            renew_at = self._env.monotonic() + await self._renew_or_retry()

    async def _renew_or_retry(self) -> float:
        try:
            await self._renew()
        except StoreError as error:
            self._trust(False)
            self._emit("lease.failed", error=str(error), failures=self._failures + 1)
            pause = RETRY_AFTER[min(self._failures, len(RETRY_AFTER) - 1)]
            self._failures += 1
            return min(pause, self._every().total_seconds())
        if self._failures:
            self._failures = 0
            self._emit("lease.recovered")
        self._trust(True)
        return self._every().total_seconds()

    async def _renew(self) -> None:
        # What waits to be written may be of an older run than what is in hand; then the newer one counts.
        asked = {claim.id: claim for claim in [*self._unsettled(), *self._runner.in_hand.claims()]}
        if asked:
            sent = self._env.monotonic()
            renewed = await self._claims.renew(list(asked.values()))
            self._runner.in_hand.note_renewed([asked[job_id].guard for job_id in renewed.held], sent=sent)
            self._apply(renewed, asked)

    def _apply(self, renewed: Renewed, asked: Mapping[JobId, Claim]) -> None:
        for job_id in renewed.lost:
            # What was settled meanwhile is not in hand any more, and so not lost; it may even be claimed again.
            if self._runner.abandon(asked[job_id].guard, Released("claim lost")):
                self._emit("claim.lost", job_id=str(job_id))
        for job_id, reason in renewed.cancel.items():
            self._runner.stop_job(asked[job_id].guard, Stopped(reason))

    async def _look_for_cancels(self) -> None:
        if not self._runner.in_hand.claims():
            return
        try:
            asked: dict[JobId, tuple[int, str]] = await self._claims.cancel_requests(self._worker_id())
        except StoreError as error:
            self._emit("store.failed", doing="look for cancel requests", error=str(error))
            # Nobody will ring again for what was asked already.
            self.wake_event.ring()
        else:
            for job_id, (epoch, reason) in asked.items():
                self._runner.stop_job((job_id, epoch), Stopped(reason))
        await self._env.sleep(LOOK_FOR_CANCELS_EVERY)
