"""What the cut matrix does with jobs whose arguments do not fit."""

from __future__ import annotations

from backstay.model.job import JobId
from backstay.model.outcome import Misfit
from backstay.testing.contract.support import BOOM, DAY, Store
from chaos.operations import Operation, settled_as, two_claims

REFUSED = Misfit(BOOM, "old")


async def misfit(store: Store) -> JobId:
    """A job that one worker has refused, while another lives that may fit it."""
    claim = await store.claimed()
    await store.end(claim, REFUSED)
    await store.register("new", signatures={"report": "new"})
    return claim.id


async def old_misfit(store: Store) -> JobId:
    """One that has waited long enough."""
    job_id = await misfit(store)
    store.later(2 * DAY)
    return job_id


MISFITS = (
    Operation("claims.settle", two_claims, settled_as(REFUSED)),
    Operation("upkeep.tend_misfits", misfit, lambda s, _: s.stores.upkeep.tend_misfits(limit=9)),
    Operation("upkeep.tend_misfits", old_misfit, lambda s, _: s.stores.upkeep.tend_misfits(limit=9)),
    Operation("insights.misfits", misfit, lambda s, _: s.stores.insights.misfits()),
)
