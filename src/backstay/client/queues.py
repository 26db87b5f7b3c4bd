"""Queues, kinds and tenants: pausing, resuming, and what is paused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings
from backstay.handlers import codec
from backstay.model.pauses import Pause
from backstay.model.text.durations import Duration, duration
from backstay.wakeups.contract import ANYTHING, LATER, queue_hint


@dataclass(frozen=True)
class Queues:
    """The queues of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def pause(
        self,
        queue: str | None = None,
        *,
        kind: str | None = None,
        tenant: str | None = None,
        reason: str,
        until: datetime | Duration | None = None,
        by: str = "client",
    ) -> None:
        """Stop claims of a queue or a kind, or hold what a tenant has waiting and will enqueue.

        What runs finishes, and nothing waiting is lost. `until` is a moment or a length of time after which everything
        goes on by itself.
        """
        _one_of(queue, kind, tenant)
        await self._enqueuer.stores.queues.pause(
            queue=queue,
            kind=kind,
            tenant=tenant,
            actor=who(by),
            reason=why(reason),
            until=_moment(until) if isinstance(until, datetime) else None,
            length=None if until is None or isinstance(until, datetime) else duration(until, field="until"),
        )
        if until is not None:
            self._enqueuer.wakeups.send(LATER)

    async def resume(
        self,
        queue: str | None = None,
        *,
        kind: str | None = None,
        tenant: str | None = None,
        by: str = "client",
    ) -> bool:
        """Let a queue, a kind or a tenant go on; False when it was not paused."""
        _one_of(queue, kind, tenant)
        was_paused = await self._enqueuer.stores.queues.resume(
            queue=queue, kind=kind, tenant=tenant, actor=who(by)
        )
        self._enqueuer.wakeups.send(queue_hint(queue) if queue else ANYTHING)
        return was_paused

    async def pauses(self) -> list[Pause]:
        """What is paused, by whom and why."""
        return await self._enqueuer.stores.queues.pauses()


def _one_of(queue: str | None, kind: str | None, tenant: str | None) -> None:
    if [queue, kind, tenant].count(None) != 2:
        raise InvalidSettings("name either a queue, a kind or a tenant")
    if tenant is not None:
        codec.check_key("tenant", tenant)
    else:
        codec.check_name("queue" if queue else "kind", queue or kind)


def _moment(until: datetime) -> datetime:
    if until.tzinfo is None:
        raise InvalidSettings(
            "until has no time zone: write datetime(…, tzinfo=UTC) so that it means one moment"
        )
    return until.astimezone(UTC)
