"""The chain of the audit trail: extending it, and finding the first link that does not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import StoreConflict
from backstay.handlers.audit_links import link_hash, linked
from backstay.model.audit_chain import FIRST, BrokenLink, ChainHead, ChainReport

BATCH = 1000


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
        while True:
            links = await self._enqueuer.stores.service.audit_chain.links(tenant, after=sequence, limit=BATCH)
            for link in links:
                expected = sequence + 1
                if link.sequence != expected:
                    return sequence, BrokenLink(tenant, expected, "the link is gone")
                if link.line is None:
                    return sequence, BrokenLink(tenant, expected, f"the line {link.audit_id} is gone")
                if link.previous_hash != previous:
                    return sequence, BrokenLink(tenant, expected, "it does not follow the link before")
                if link.line.tenant != tenant or link.hash != link_hash(
                    tenant, expected, previous, link.line
                ):
                    return sequence, BrokenLink(tenant, expected, f"the line {link.audit_id} was changed")
                if kept.get(expected, link.hash) != link.hash:
                    return sequence, BrokenLink(tenant, expected, "it is not the link of the checkpoint")
                sequence, previous = expected, link.hash
            if len(links) < BATCH:
                break
        if kept and max(kept) > sequence:
            return sequence, BrokenLink(tenant, sequence + 1, f"cut off: it had {max(kept)} links")
        return sequence, None
