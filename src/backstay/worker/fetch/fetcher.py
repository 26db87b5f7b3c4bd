"""Asks the database for jobs: when there is room, as many as will soon be run, and no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from math import inf
from uuid import UUID

from backstay.errors import StoreError, StoreUnavailable
from backstay.model.events import Emit
from backstay.model.job import Claim
from backstay.model.outcome import Outcome, Released
from backstay.model.records import TickInfo, Wanted
from backstay.runtime.env import Env
from backstay.stores.contract import Claims
from backstay.wakeups.contract import ANYTHING, TOKENS, queue_hint, where_work_is
from backstay.worker.fetch.claim_cursor import ClaimCursor
from backstay.worker.fetch.claim_requests import Asks, ClaimRequest, portions
from backstay.worker.fetch.step_back import StepBack
from backstay.worker.run.runner import Runner
from backstay.worker.wake_event import WakeEvent

AHEAD_SECONDS = 0.1
MOST_AHEAD = 2000
MOST_AT_ONCE = 1000
LOOK_FOR_STRAYS_EVERY = 1.0
LOOK_FOR_STRAYS_SECONDS = 60.0
LAST_LOOKS_AFTER = (0.0, 0.5)


class Fetcher:
    """Keeps the runner supplied.

    Besides the free slots it takes what the worker finishes in a tenth of a second, so that fast jobs come in large
    batches and slow ones are left to workers that are free.
    """

    def __init__(
        self,
        claims: Claims,
        runner: Runner,
        asks: Asks,
        *,
        slots: int,
        poll_busy: float,
        poll_idle: float,
        give_back: Callable[[Claim, Outcome], None],
        hint: Callable[..., None],
        emit: Emit,
        env: Env,
    ) -> None:
        self._claims, self._runner, self._slots = claims, runner, slots
        self._poll_busy, self._poll_idle, self._give_back = poll_busy, poll_idle, give_back
        self._hint, self._emit, self._env = hint, emit, env
        self.asks = asks
        self.wake_event = WakeEvent()
        self.worker_id = ""
        self.is_stopping = self.is_draining = False
        self.is_trusted = True
        self.may_hold = False
        """Whether it has left without knowing what became of its last requests."""
        self._rate = 0.0
        # Claims are asked for when no more than this many wait in hand.
        self._low = 0
        self._finished = 0
        self._measured_at = env.monotonic()
        self._unanswered: dict[UUID, float] = {}
        self._looked_at = 0.0
        self._is_busy = self._is_hinted = False
        # Pairs that are not asked for before a token comes.
        self._not_before: dict[tuple[str, str], float] = {}
        self._turn = 0
        self.claim_cursor, self.step_back = ClaimCursor(), StepBack(env)
        # What all hints since the last claim have named, if they named one pair.
        self._named: Wanted | None = None

    def note_finished(self, claim: Claim, outcome: Outcome) -> None:
        """One more attempt has ended; there may be room."""
        self.step_back.note(claim.kind, outcome)
        self._finished += 1
        if self._runner.waiting <= self._low:
            self.wake_event.ring()

    def hear(self, hint: str) -> None:
        """Somebody says that there is something to do; look, if it may be for us."""
        queue, kind = where_work_is(hint)
        pairs = [pair for pair in self.asks.wanted if pair.queue == queue and kind in ("", pair.kind)]
        if not pairs and hint != ANYTHING:
            return
        named = pairs[0] if kind else None
        self._named = named if self._named is named or not self._is_hinted else None
        self._is_hinted = True
        self.wake_event.ring()

    def ask_for(self, asks: Asks) -> None:
        """Claim by these numbers from now on."""
        if self.asks != asks:
            self.asks = asks
            self.wake_event.ring()

    def use_tick_info(self, near: TickInfo) -> None:
        """Reckon with others that take from the same lines or have other code, and drain if somebody wants it."""
        self.claim_cursor.has_competitors, self.step_back.other_code = near.has_competitors, near.other_code
        self.drain(near.told == "drain")

    def stop(self) -> None:
        """Claim no more; a claim under way is given back when it arrives."""
        self.is_stopping = True
        self.wake_event.ring()

    def drain(self, is_draining: bool) -> None:
        """Claim no more until somebody says otherwise, or go on."""
        if self.is_draining is not is_draining:
            self.is_draining = is_draining
            self._emit("worker.draining" if is_draining else "worker.resumed", worker=self.worker_id)
            self.wake_event.ring()

    async def run(self) -> None:
        """Fetch until stopped."""
        self.wake_event.attach()
        pause = 0.1
        while not self.is_stopping:
            try:
                await self._fetch_or_wait()
                pause = 0.1
            except StoreError as error:
                self._emit("store.failed", doing="claim", error=str(error))
                await self.wake_event.wait(pause * (0.5 + self._env.random()))
                pause = min(pause * 2, 5.0)
        if self._unanswered:
            await self._look_for_strays_last()

    async def _fetch_or_wait(self) -> None:
        if self._unanswered:
            await self._release_strays()
        room = self._room() if self.is_trusted and not self.is_draining else 0
        if room < 1:
            await self.wake_event.wait(self._poll_idle)
            return
        has_more = await self._claim(room)
        if not has_more:
            await self.wake_event.wait(min(self._poll(), self._until_next_token(), self._until_owed()))

    async def _claim(self, room: int) -> bool:
        """Claim up to `room` jobs; returns whether more may be waiting."""
        self._turn += 1
        self.claim_cursor.owed_at = inf
        named, self._named = self._named, None
        if named is not None and self._can_follow(named):
            taken = len(await self._claim_portion(ClaimRequest.named(named, room), room))
            self._is_busy = taken > 0
            return taken >= room or self._until_owed() <= 0
        return await self._claim_of_all(room)

    def _can_follow(self, named: Wanted) -> bool:
        """Whether only what a hint named can be asked for at first, by a shorter way."""
        if self.step_back.is_active and self.step_back.leaves(named.kind):
            return False
        is_plain = not named.limits and named.fair is None and named.kind not in self.asks.batched
        is_caught_up = self.claim_cursor.is_caught_up(self._env.monotonic())
        return is_plain and is_caught_up and named.queue not in self.asks.per_queue

    async def _claim_of_all(self, room: int) -> bool:
        taken = 0
        askable = self._askable()
        for portion in self._portions([pair for pair in askable if pair.kind not in self.asks.batched], room):
            if taken < room and not (taken and self.is_stopping):
                taken += len(await self._claim_portion(portion, room - taken))
        has_more = taken >= room
        for kind, pairs in _by_kind(askable).items():
            batching = self.asks.batched.get(kind)
            if batching is not None and (limit := self._runner.batch_room(kind, batching)) > 0:
                got = len(await self._claim_portion(ClaimRequest.of(pairs, limit), limit))
                taken, has_more = taken + got, has_more or got >= limit
        self._is_busy = taken > 0
        return has_more or self._until_owed() <= 0

    def _portions(self, wanted: Sequence[Wanted], room: int) -> list[ClaimRequest]:
        per_queue = self.asks.per_queue
        active, waiting = self._runner.counts()
        return portions(
            wanted,
            room=room,
            free=max(self._slots - active - waiting, 0),
            per_queue=per_queue,
            in_hand=self._runner.in_hand.by_queue() if per_queue else {},
            turn=self._turn,
        )

    async def _claim_portion(self, portion: ClaimRequest, room: int) -> list[Claim]:
        claim_id = self._env.new_id()
        self._unanswered[claim_id] = self._env.monotonic()
        try:
            claims = await self._ask(portion, claim_id, min(portion.limit, room))
        except StoreUnavailable as error:
            if not error.was_sent:
                del self._unanswered[claim_id]
            raise
        del self._unanswered[claim_id]
        if not claims:
            return claims
        if self.is_stopping:
            self._release(claims)
            return claims
        self._emit("jobs.claimed", jobs=len(claims), asked=room)
        for lost in self._runner.start(claims):
            self._emit("claim.lost", job_id=str(lost.id))
        return claims

    async def _ask(self, portion: ClaimRequest, claim_id: UUID, limit: int) -> list[Claim]:
        suspects = 0 if portion.is_named or self._runner.in_hand.has_suspect() else 1
        if not portion.limited or portion.limited_limit < 1:
            return await self._ask_plain(portion, claim_id, limit, suspects)
        claimed = await self._claims.claim_limited(
            portion.limited,
            portion.plain,
            worker=self.worker_id,
            claim_id=claim_id,
            limit=limit,
            limited_limit=portion.limited_limit,
            suspects=suspects,
        )
        now = self._env.monotonic()
        self._not_before |= {
            pair: now + wait.total_seconds() for pair, wait in claimed.waits.items() if wait is not None
        }
        hints = {queue_hint(queue) for queue in claimed.left} | ({TOKENS} if claimed.is_late else set())
        if hints:
            self._hint(*hints)
        return claimed.claims

    async def _ask_plain(
        self, portion: ClaimRequest, claim_id: UUID, limit: int, suspects: int
    ) -> list[Claim]:
        began, pairs = self._env.monotonic(), portion.plain
        is_hinted, self._is_hinted = self._is_hinted, False
        if portion.is_named:
            since: datetime | None = self.claim_cursor.behind_the_last()
        else:
            since = self.claim_cursor.since(pairs, began, is_hinted=is_hinted)
        claims = await self._claims.claim(
            pairs, worker=self.worker_id, claim_id=claim_id, limit=limit, suspects=suspects, since=since
        )
        now = self._env.monotonic()
        self.claim_cursor.note(claims, limit=limit, since=since, took=now - began, now=now)
        return claims

    def _askable(self) -> Sequence[Wanted]:
        """The pairs of which jobs may start as far as is known here."""
        now = self._env.monotonic()
        self._not_before = {pair: at for pair, at in self._not_before.items() if at > now}
        wanted: Sequence[Wanted] = self.asks.wanted
        if self._not_before:
            wanted = [pair for pair in wanted if (pair.queue, pair.kind) not in self._not_before]
        if self.step_back.is_active:
            wanted = [pair for pair in wanted if not self.step_back.leaves(pair.kind)]
        return wanted

    def _until_next_token(self) -> float:
        if not self._not_before:
            return inf
        return max(min(self._not_before.values()) - self._env.monotonic(), 0.001)

    def _until_owed(self) -> float:
        return self.claim_cursor.owed_at - self._env.monotonic()

    def _release(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self._give_back(claim, Released())

    async def _release_strays(self) -> None:
        """Give back what was claimed for us in a request whose reply was lost.

        The database may still be at work on that request, so it is asked again for a while; after that the lease
        has run out and the rescuer takes care of it.
        """
        now = self._env.monotonic()
        if now - self._looked_at < LOOK_FOR_STRAYS_EVERY:
            return
        self._looked_at = now
        await self._give_strays_back()
        self._unanswered = {
            claim_id: sent
            for claim_id, sent in self._unanswered.items()
            if now - sent < LOOK_FOR_STRAYS_SECONDS
        }

    async def _look_for_strays_last(self) -> None:
        """Look before leaving, and once more, for a request that is still at work after its connection was cut.

        It may be at work for longer than that, and give us jobs when we are gone.
        """
        self.may_hold = True
        for pause in LAST_LOOKS_AFTER:
            await self._env.sleep(pause)
            try:
                if await self._give_strays_back():
                    return
            except StoreError as error:
                self._emit("store.failed", doing="look for strays", error=str(error))

    async def _give_strays_back(self) -> int:
        strays = await self._claims.strays(self.worker_id, unanswered=list(self._unanswered))
        for claim in strays:
            self._emit("claim.released", job_id=str(claim.id))
        self._release(strays)
        return len(strays)

    def _room(self) -> int:
        active, waiting = self._runner.counts()
        self._measure()
        if waiting > self._low:
            return 0
        ahead = min(int(self._rate * AHEAD_SECONDS), MOST_AHEAD)
        self._low = ahead // 2
        return min(self._slots - active - waiting + ahead, MOST_AT_ONCE)

    def _measure(self) -> None:
        now = self._env.monotonic()
        passed = now - self._measured_at
        if passed < 0.005:
            return
        rate = self._finished / passed
        # A quick rise and a slow fall: one slow moment must not shrink the batches of a fast queue.
        weight = 0.5 if rate > self._rate else 1 - 0.5 ** (passed / AHEAD_SECONDS)
        self._rate += (rate - self._rate) * min(weight, 1.0)
        self._finished, self._measured_at = 0, now

    def _poll(self) -> float:
        base = self._poll_busy if self._is_busy else self._poll_idle
        return base * (0.9 + 0.2 * self._env.random())


def _by_kind(wanted: Sequence[Wanted]) -> dict[str, list[Wanted]]:
    found: dict[str, list[Wanted]] = {}
    for pair in wanted:
        found.setdefault(pair.kind, []).append(pair)
    return found
