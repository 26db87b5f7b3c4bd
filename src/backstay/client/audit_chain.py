"""The chain of the audit trail: extending it, and finding the first link that does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import StoreConflict
from backstay.handlers.audit_links import link_hash, linked
from backstay.model.audit_chain import FIRST, BrokenLink, ChainHead, ChainLink, ChainReport

BATCH = 1000
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
MOST_LATE = timedelta(hours=1)
"""A line stands behind those that were visible before it, so its date may be earlier, but by no more than this."""


@dataclass(frozen=True)
class AuditChain:
    """The chains of one application's audit trail, one for each tenant, from one event loop."""

    _enqueuer: Enqueuer

    async def extend(self) -> int:
        """Add every line that no chain has yet; returns how many. Several may do so at once."""
        total = 0
        while True:
            try:
                added = await self._enqueuer.stores.service.audit_chain.extend(linked, limit=BATCH)
            except StoreConflict:
                # Somebody else has added the same lines: go on with what is left.
                continue
            total += added
            if added < BATCH:
                return total

    async def heads(self) -> list[ChainHead]:
        """The last link of every chain: kept elsewhere, it shows later that nothing was cut off."""
        return await self._enqueuer.stores.service.audit_chain.heads()

    async def verify(self, checkpoint: Iterable[ChainHead] = ()) -> ChainReport:
        """Look through every chain for the first link that does not hold.

        With the heads that were kept elsewhere it also finds chains that were cut off or made anew.
        """
        chains, known = self._enqueuer.stores.service.audit_chain, list(checkpoint)
        heads = await chains.heads()
        tenants = sorted({head.tenant for head in heads} | {head.tenant for head in known})
        links, broken = 0, list[BrokenLink]()
        for tenant in tenants:
            kept = {head.sequence: head.hash for head in known if head.tenant == tenant}
            seen, problem = await self._look_through(tenant, kept)
            links += seen
            broken += [problem] if problem else []
        return ChainReport(
            links=links, unchained=await chains.unchained(), broken=tuple(broken), heads=tuple(heads)
        )

    async def _look_through(self, tenant: str, kept: dict[int, str]) -> tuple[int, BrokenLink | None]:
        sequence, previous = 0, FIRST
        newest = EARLIEST
        while True:
            links = await self._enqueuer.stores.service.audit_chain.links(tenant, after=sequence, limit=BATCH)
            for link in links:
                if problem := _problem(tenant, sequence + 1, previous, link, newest):
                    return sequence, BrokenLink(tenant, sequence + 1, problem)
                if kept.get(link.sequence, link.hash) != link.hash:
                    return sequence, BrokenLink(tenant, link.sequence, "it is not the link of the checkpoint")
                assert link.line is not None
                sequence, previous = link.sequence, link.hash
                newest = max(newest, link.line.at)
            if len(links) < BATCH:
                break
        if kept and max(kept) > sequence:
            return sequence, BrokenLink(tenant, sequence + 1, f"cut off: it had {max(kept)} links")
        return sequence, None


def _problem(tenant: str, sequence: int, previous: str, link: ChainLink, newest: datetime) -> str | None:
    """What is wrong with a link that should have this place; None if it holds."""
    if link.sequence != sequence:
        return "the link is gone"
    if link.line is None:
        return f"the line {link.audit_id} is gone"
    if link.previous_hash != previous:
        return "it does not follow the link before"
    if link.line.tenant != tenant or link.hash != link_hash(tenant, sequence, previous, link.line):
        return f"the line {link.audit_id} was changed"
    if newest - link.line.at > MOST_LATE:
        return f"the line {link.audit_id} was put in later: it is dated {newest - link.line.at} before others"
    return None
