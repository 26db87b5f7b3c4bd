"""How long to wait before each retry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from backstay.errors import InvalidPolicy
from backstay.model.checks import number
from backstay.model.text.durations import LONGEST, Duration, duration

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, init=False)
class Backoff:
    """Delays that start at `base`, grow by `multiplier` and stop growing at `cap`.

    `jitter` spreads each delay evenly by that share to both sides: 0.2 means 80 % to 120 %.
    `cap=None` lets the delays grow without end.
    """

    base: timedelta
    multiplier: float
    cap: timedelta | None
    jitter: float

    def __init__(
        self,
        base: Duration = "2s",
        *,
        multiplier: float = 2.0,
        cap: Duration | None = "1024s",
        jitter: float = 0.0,
    ) -> None:
        object.__setattr__(self, "base", duration(base, field="backoff.base"))
        object.__setattr__(self, "multiplier", number(1, 100)("backoff.multiplier", multiplier))
        object.__setattr__(self, "cap", None if cap is None else duration(cap, field="backoff.cap"))
        object.__setattr__(self, "jitter", number(0, 1)("backoff.jitter", jitter))
        if self.cap is not None and self.cap < self.base:
            raise InvalidPolicy(
                "backoff.cap", cap, needs=f"at least the base ({self.base}), or None for no cap"
            )

    @classmethod
    def fixed(cls, delay: Duration, *, jitter: float = 0.0) -> Backoff:
        """The same delay before every retry."""
        return cls(delay, multiplier=1.0, cap=None, jitter=jitter)

    def delay(self, retry: int, chance: float) -> timedelta:
        """How long to wait before the `retry`-th retry, counted from one, in whole milliseconds.

        `chance` is a random number in [0, 1); it only matters with jitter.
        """
        spread = 1 + self.jitter * (2 * chance - 1)
        return timedelta(milliseconds=math.floor(self._microseconds(retry) * spread) // 1000)

    def _microseconds(self, retry: int) -> int:
        base = self.base // _MICROSECOND
        ceiling = (LONGEST if self.cap is None else self.cap) // _MICROSECOND
        try:
            grown = base * self.multiplier ** (max(retry, 1) - 1)
        except OverflowError:
            grown = math.inf if base else 0.0
        return round(min(grown, ceiling))
