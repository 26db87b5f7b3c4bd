"""Which slice of a long proof the gate takes: another one with every change of the source.

The seed is a hash of the source tree, so a slice that ran before a merge is the one that the gate runs, and runs add
up over time. A seed that ever failed joins `FAILED_ONCE` and is run every time.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
FAILED_ONCE: tuple[int, ...] = ()
"""Seeds of simulated worlds that have broken a rule; each was a bug, and stays here after it was mended."""

T = TypeVar("T")


@cache
def source_seed() -> int:
    """A number that changes with every change of the engine's source."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in {".py", ".sql"}:
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return int.from_bytes(digest.digest()[:5], "big")


def drawn(things: Sequence[T], count: int) -> list[T]:
    """As many of these things, drawn by the source seed."""
    return random.Random(source_seed()).sample(list(things), min(count, len(things)))


if __name__ == "__main__":
    # The order of the tests is drawn by the same seed.
    print(source_seed() % 2**32)  # noqa: T201 -- the Makefile reads it
