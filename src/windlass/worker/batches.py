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
    batch: list[T] = []
    epochs: dict[Any, int] = {}
    while waiting and len(batch) < most:
        claim = waiting[0][0]
        if epochs.setdefault(claim.id, claim.epoch) != claim.epoch:
            break
        batch.append(waiting.popleft())
    return batch
