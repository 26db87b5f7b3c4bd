"""Jobs whose arguments do not fit the code of a worker, while releases of the code change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

ARGUMENTS_DO_NOT_FIT = "arguments do not fit"
"""Why such a job is held, and why it is dead when no worker has come that could read it."""

SHORTEST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A worker could not read the arguments of a job: by which signature, and how long to wait for a better one."""

    signature: str
    wait_for: timedelta


def pause_after(times: int) -> timedelta:
    """How long a job stays held before it may be taken again, after this number of refusals in a row.

    After the first it goes on as soon as a worker lives that has not refused it. One that is refused again was taken
    by a worker of the old release although a new one lives: it waits a little, and longer each time.
    """
    if times <= 1:
        return timedelta(0)
    doubled: int = 2 ** min(times - 2, 10)
    return min(SHORTEST_PAUSE * doubled, LONGEST_PAUSE)
