"""Queues: pausing, resuming, and what is paused."""

from __future__ import annotations

from dataclasses import dataclass

from windlass import codec
from windlass.client.arguments import who, why
from windlass.client.jobs import Jobs
from windlass.errors import InvalidSettings
from windlass.records import Pause
from windlass.wakeups.contract import ANYTHING, queue_hint


@dataclass(frozen=True)
class Queues:
    """The queues of one application, from one event loop."""

    jobs: Jobs

    async def pause(
        self, queue: str | None = None, *, kind: str | None = None, reason: str, by: str = "client"
    ) -> None:
        """Stop claims of a queue, or of a kind; what runs finishes, and nothing waiting is lost."""
        _one_of(queue, kind)
        await self.jobs.stores.queues.pause(queue=queue, kind=kind, actor=who(by), reason=why(reason))

    async def resume(self, queue: str | None = None, *, kind: str | None = None, by: str = "client") -> bool:
        """Let a queue or a kind be claimed again; False when it was not paused."""
        _one_of(queue, kind)
        was_paused = await self.jobs.stores.queues.resume(queue=queue, kind=kind, actor=who(by))
        self.jobs.wakeups.send(queue_hint(queue) if queue else ANYTHING)
        return was_paused

    async def pauses(self) -> list[Pause]:
        """What is paused, by whom and why."""
        return await self.jobs.stores.queues.pauses()


def _one_of(queue: str | None, kind: str | None) -> None:
    if (queue is None) == (kind is None):
        raise InvalidSettings("name either a queue or a kind")
    codec.check_name("queue" if queue else "kind", queue or kind)
