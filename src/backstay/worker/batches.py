"""What goes into one request about claims: all that waits, but never two claims of the same job."""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar

T = TypeVar("T", bound=tuple[Any, ...])


def take_batch(waiting: deque[T], *, most: int) -> list[T]:
    """Take the next of those that wait, each a tuple with its claim first.

    A store answers by job, so two claims of one job would share their answer.
    A worker can have both, when it lost the job without noticing and claimed it again.
    """
    batch = [waiting.popleft() for _ in range(min(len(waiting), most))]
    if len({one[0].id for one in batch}) == len(batch):
        return batch
    known: dict[Any, int] = {}
    for at, (claim, *_) in enumerate(batch):
        if known.setdefault(claim.id, claim.epoch) != claim.epoch:
            waiting.extendleft(reversed(batch[at:]))
            return batch[:at]
    return batch
