"""Failures: causes of death over time, whether they are new or have come back, and who looks after them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings, NotFound
from backstay.handlers import codec
from backstay.model.failures import Failure, failure_of
from backstay.model.text.durations import Duration, duration

MOST_LISTED = 500
LONGEST = timedelta(days=90)


@dataclass(frozen=True)
class Failures:
    """The failures of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def all(
        self,
        last: Duration = timedelta(days=1),
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        limit: int = 100,
    ) -> list[Failure]:
        """The causes of the last while, those that struck last first, with deaths an hour.

        Letters that were decided about count as well, so that a cause that comes back is seen.
        """
        store = self._enqueuer.stores.service.failures
        until = (await self._enqueuer.stores.insights.engine()).now
        since = until - _length(last)
        most = min(max(limit, 1), MOST_LISTED)
        counts = await store.causes(since=since, kind=kind, queue=queue, tenant=tenant, limit=most)
        names = [count.fingerprint for count in counts]
        hours = await store.hours(names, since=since, kind=kind, queue=queue, tenant=tenant) if names else {}
        found = []
        for count in counts:
            history = await store.history(count.fingerprint, tenant=tenant)
            # It may have been removed at this moment.
            if history is not None:
                of_it = hours.get(count.fingerprint, {})
                found.append(failure_of(count, history, of_it, since=since, until=until))
        return found

    async def assign(self, fingerprint: str, owner: str, *, by: str, tenant: str | None = None) -> None:
        """Say who looks after a cause; raises NotFound for one that no job died of."""
        await self._need(fingerprint, tenant)
        await self._enqueuer.stores.service.failures.note(
            fingerprint,
            tenant=tenant or "",
            owner=codec.check_key("owner", owner),
            closes=False,
            reason=None,
            actor=who(by),
        )

    async def close(self, fingerprint: str, *, by: str, reason: str, tenant: str | None = None) -> None:
        """Say that a cause was dealt with: if it strikes again, it has regressed. Dead letters stay as they are."""
        await self._need(fingerprint, tenant)
        await self._enqueuer.stores.service.failures.note(
            fingerprint, tenant=tenant or "", owner=None, closes=True, reason=why(reason), actor=who(by)
        )

    async def _need(self, fingerprint: str, tenant: str | None) -> None:
        if await self._enqueuer.stores.service.failures.history(fingerprint, tenant=tenant) is None:
            raise NotFound("failure", fingerprint)


def _length(last: Duration) -> timedelta:
    length = duration(last, field="last")
    if length > LONGEST:
        raise InvalidSettings(f"last cannot be {last}: at most {LONGEST.days} days")
    return length
