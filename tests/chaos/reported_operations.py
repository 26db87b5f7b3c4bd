"""What maintenance does with attempts that programs worked from SQL, ready to be cut."""

from __future__ import annotations

from typing import Any

import asyncpg

from backstay.model.job import Claim
from backstay.model.outcome import Released
from backstay.testing.contract.support import Store
from chaos.operations import CutStore, Operation, settled_as, two_claims

FAIL = "SELECT backstay.fail($1, $2, 'no paper', at => $3)"


async def reported(store: CutStore) -> list[Claim]:
    """Two jobs that run; a program has said of each that it failed."""
    claims = await two_claims(store)
    connection = await asyncpg.connect(store.url)
    for claim in claims:
        assert await connection.fetchval(FAIL, claim.id, claim.epoch, store.clock())
    await connection.close()
    return claims


async def reported_and_settled(store: CutStore) -> None:
    claims = await reported(store)
    await settled_as(Released())(store, claims)


async def waiting_reports(store: Store, _: Any) -> None:
    assert len(await store.stores.claims.reported(limit=9)) == 2


REPORTED = (
    Operation("claims.reported", reported, waiting_reports),
    Operation("claims.forget_reports", reported_and_settled, lambda s, _: s.stores.claims.forget_reports()),
)
