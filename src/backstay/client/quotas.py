"""Quotas: how many jobs of a tenant may wait."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings
from backstay.handlers import codec
from backstay.model.pauses import Quota

HIGHEST = 1_000_000_000


@dataclass(frozen=True)
class Quotas:
    """The quotas of one application's tenants, from one event loop."""

    _enqueuer: Enqueuer

    async def set(
        self,
        most: int,
        *,
        tenant: str | None = None,
        queue: str | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Limit how many jobs may wait: of one tenant or of each, in one queue or in all together.

        Enqueueing more raises QuotaExceeded. Jobs that wait already stay; a tenant's own quota counts instead of the
        one for each.
        """
        if type(most) is not int or not 0 <= most <= HIGHEST:
            raise InvalidSettings(
                f"a quota cannot be {most!r}: it needs a whole number from 0 to {HIGHEST:,}"
            )
        _check(tenant, queue)
        await self._enqueuer.stores.quotas.set(
            tenant=tenant, queue=queue, most=most, actor=who(by), reason=why(reason)
        )

    async def unset(self, *, tenant: str | None = None, queue: str | None = None, by: str = "client") -> bool:
        """Let any number wait again; False when there was no such quota."""
        _check(tenant, queue)
        return await self._enqueuer.stores.quotas.remove(tenant=tenant, queue=queue, actor=who(by))

    async def all(self) -> list[Quota]:
        """Every quota, with who set it and why."""
        return await self._enqueuer.stores.quotas.all()


def _check(tenant: str | None, queue: str | None) -> None:
    if tenant is not None:
        codec.check_key("tenant", tenant)
    if queue is not None:
        codec.check_name("queue", queue)
