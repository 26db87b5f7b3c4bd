"""Limits: how much of each is used, who holds the permits, and what operators change."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.client.arguments import who, why
from backstay.client.effective_limits import ALL_QUEUES, LIMIT_FIELDS, change_text
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings
from backstay.handlers import codec
from backstay.model.limits.admission import LimitRecord, PermitHolder
from backstay.model.records import Override, OverrideScope
from backstay.wakeups.contract import OVERRIDES

MOST = 1000
MOST_WAITING = 1000
"""Up to how many jobs that wait for a limit are counted."""


@dataclass(frozen=True)
class Limits:
    """The limits of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def all(self, *, limit: int = 200) -> list[LimitRecord]:
        """Every limit that was asked for, those that jobs wait for first.

        Who waits is counted up to 1,000 jobs of each; where it `is_capped` there are more.
        """
        stores = self._enqueuer.stores
        return await stores.limits.all(limit=min(max(limit, 1), MOST), most=MOST_WAITING)

    async def holders(self, key: str, *, limit: int = 200) -> list[PermitHolder]:
        """The jobs that hold permits of a limit now."""
        return await self._enqueuer.stores.limits.holders(key, limit=min(max(limit, 1), MOST))

    async def set(
        self,
        field: str,
        value: int | str,
        *,
        kind: str | None = None,
        queue: str | None = None,
        burst: int | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Change a limit of a kind or a queue for every worker; what runs finishes, and a deploy keeps the change.

        `field` is `limit`, `rate`, `key_limit` or `key_rate` of a kind, `limit`, `rate` or `per_worker` of a queue; the
        queue "*" stands for all jobs together. Raises InvalidSettings for what cannot be; then nothing is stored.
        """
        scope, name = _one_of(kind, queue)
        if name == ALL_QUEUES and field != "limit":
            raise InvalidSettings(f"all jobs together have a limit and no {field!r}")
        change = change_text(scope, field, value, burst=burst)
        await self._enqueuer.stores.overrides.set(
            scope, name, field, change=change, actor=who(by), reason=why(reason)
        )
        self._enqueuer.wakeups.send(OVERRIDES)

    async def unset(
        self, field: str, *, kind: str | None = None, queue: str | None = None, by: str = "client"
    ) -> bool:
        """Restore the limit that the code declares; False when it was not changed."""
        scope, name = _one_of(kind, queue)
        was_set = await self._enqueuer.stores.overrides.remove(scope, name, field, actor=who(by))
        self._enqueuer.wakeups.send(OVERRIDES)
        return was_set

    async def changes(self) -> list[Override]:
        """What operators have changed, by whom and why."""
        return [one for one in await self._enqueuer.stores.overrides.all() if one.field in LIMIT_FIELDS]


def _one_of(kind: str | None, queue: str | None) -> tuple[OverrideScope, str]:
    if (queue is None) == (kind is None):
        raise InvalidSettings('name either a kind or a queue; the queue "*" stands for all jobs together')
    if kind is not None:
        return "kind", codec.check_name("kind", kind)
    return "queue", ALL_QUEUES if queue == ALL_QUEUES else codec.check_name("queue", queue)
