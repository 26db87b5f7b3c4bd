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


class UuidMaker:
    """Makes version-7 UUIDs that only ever rise within one process.

    They are unique, not secret: an ordinary generator, seeded anew in every process, is enough and far faster.
    """

    def __init__(self, wall_ns: Callable[[], int], random_bits: Callable[[int], int]) -> None:
        self._wall_ns, self._random_bits = wall_ns, random_bits
        self._last = 0
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._start_afresh)

    def __call__(self) -> UUID:
        milliseconds = self._wall_ns() // 1_000_000
        with self._lock:
            candidate = (milliseconds << 74) | self._random_bits(74)
            # Within one millisecond, or after a clock step back, count up from the last id.
            if candidate <= self._last:
                candidate = self._last + 1 + self._random_bits(20)
            self._last = candidate
        return _uuid(_with_version_and_variant(candidate))

    def _start_afresh(self) -> None:
        # A forked child that counted up from what it inherits would meet its parent's ids.
        self._last, self._lock = 0, threading.Lock()


def _with_version_and_variant(bits: int) -> int:
    timestamp, rest = bits >> 74, bits & ((1 << 74) - 1)
    high, low = rest >> 62, rest & ((1 << 62) - 1)
    return (timestamp << 80) | (0x7 << 76) | (high << 64) | (0b10 << 62) | low


def _uuid(bits: int) -> UUID:
    # What UUID(int=bits) does, without its checks, which take longer than all the rest.
    made = UUID.__new__(UUID)
    object.__setattr__(made, "int", bits)
    object.__setattr__(made, "is_safe", _UNKNOWN)
    return made


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


SYSTEM = Env()
