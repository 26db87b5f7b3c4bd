"""What services ask of a carrier of hints, and the names a hint can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

ANYTHING = "*"
"""Something changed, nobody knows what."""
LATER = "later"
"""A job was scheduled for a time to come."""
REPORTED = "reported"
"""A program that works from SQL has said how an attempt ended."""
TOKENS = "tokens"
"""A job has begun to wait for a token of a rate."""
CANCEL = "cancel"
"""Somebody wants a running job stopped."""
WORKERS = "workers"
"""A worker has started."""
ROUTES = "routes"
"""Jobs of a kind are sent to a queue where nobody looked for them yet."""

OVERRIDES = "overrides"
"""An operator has changed a number."""

SCHEDULES = "schedules"
"""A schedule is new or has changed."""

OPERATIONS = "operations"
"""Somebody has started or stopped an action on many jobs."""

PROBE = "probe"
"""The doctor looks whether hints arrive."""


def queue_hint(queue: str) -> str:
    """There is work in this queue."""
    return f"queue:{queue}"


def pair_hint(queue: str, kind: str) -> str:
    """There is a new job of this kind in this queue."""
    return f"{queue_hint(queue)} {kind}"


def where_work_is(hint: str) -> tuple[str, str]:
    """The queue that a hint is about, and the kind if it names one; empty where it names none."""
    queue, _, kind = hint.removeprefix("queue:").partition(" ")
    return (queue, kind) if hint.startswith("queue:") else ("", "")


def freed_hints(queues: Iterable[str]) -> set[str]:
    """Jobs can go on in these queues; "*" stands for any."""
    return {ANYTHING if queue == "*" else queue_hint(queue) for queue in queues}


def done_hint(job_id: object) -> str:
    """A job that somebody waits for has ended."""
    return f"done:{job_id}"


class Wakeups(Protocol):
    """Carries hints between processes, after the commit that they are about."""

    @property
    def can_listen(self) -> bool:
        """Whether hints can be heard here at all."""
        ...

    def may_ride(self) -> bool:
        """Whether the next hint may go out with the commit it is about; who is told so lets it.

        That is quickest, but such commits wait for one another, so it is for who had nothing to tell for a while.
        """
        ...

    def send(self, *hints: str) -> None:
        """Pass hints on in the background; never waits and never fails."""
        ...

    async def listen(self, on_hint: Callable[[str], None]) -> None:
        """Call back for every hint until cancelled, connecting again when need be."""
        ...

    async def close(self) -> None:
        """Stop sending."""
        ...
