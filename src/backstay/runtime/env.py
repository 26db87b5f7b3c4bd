"""Clock, chance, sleep and ids: the only door to them, so that a test can hold it."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, SafeUUID

_UNKNOWN = SafeUUID.unknown
_VERSION, _VARIANT = 0x7 << 76, 0b10 << 62
_LOW = (1 << 62) - 1
_set = object.__setattr__


def _made(bits: int) -> UUID:
    """What UUID(int=bits) does, without its checks, which take longer than all the rest."""
    made = UUID.__new__(UUID)
    _set(made, "int", bits)
    _set(made, "is_safe", _UNKNOWN)
    return made


class UuidMaker:
    """Makes version-7 UUIDs that only ever rise within one process.

    They are unique, not secret: an ordinary generator, seeded anew in every process, is enough and far faster.
    """

    def __init__(self, wall_ns: Callable[[], int], random_bits: Callable[[int], int]) -> None:
        self._wall_ns, self._random_bits = wall_ns, random_bits
        self._start_afresh()
        os.register_at_fork(after_in_child=self._start_afresh)

    def __call__(self) -> UUID:
        return _made(self._take(1))

    def many(self, number: int) -> list[UUID]:
        """Consecutive ids, each the one before plus one."""
        first = self._take(number)
        return [_made(bits) for bits in range(first, first + number)]

    def _take(self, number: int) -> int:
        """Reserve consecutive ids and return the bits of the first."""
        milliseconds = self._wall_ns() // 1_000_000
        with self._lock:
            if milliseconds > self._milliseconds:
                self._begin(milliseconds)
            else:
                # Within one millisecond, or after a clock step back, count up from the last id.
                self._low += 1 + self._random_bits(20)
                if self._low + number - 1 > _LOW:
                    self._begin(self._milliseconds + 1)
            first = self._high | self._low
            self._low += number - 1
        return first

    def _begin(self, milliseconds: int) -> None:
        """Go on with ids of another millisecond; the highest random bit is left for counting up."""
        self._milliseconds = milliseconds
        self._high = milliseconds << 80 | _VERSION | self._random_bits(12) << 64 | _VARIANT
        self._low = self._random_bits(61)

    def _start_afresh(self) -> None:
        # A forked child that counted up from what it inherits would meet its parent's ids.
        self._milliseconds, self._high, self._low = -1, 0, 0
        self._lock = threading.Lock()


_chance = random.Random()  # noqa: S311  # spreads retries and tells ids apart; no secret is made from it
os.register_at_fork(after_in_child=_chance.seed)


@dataclass(frozen=True)
class Env:
    """What a service needs of the outside world besides the database."""

    wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    random: Callable[[], float] = _chance.random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    secret: Callable[[], str] = lambda: secrets.token_hex(32)
    new_id: Callable[[], UUID] = field(default_factory=lambda: UuidMaker(time.time_ns, _chance.getrandbits))

    def new_ids(self, number: int) -> list[UUID]:
        """So many of them, in order, at a fraction of the time."""
        if isinstance(self.new_id, UuidMaker):
            return self.new_id.many(number)
        return [self.new_id() for _ in range(number)]


SYSTEM = Env()
