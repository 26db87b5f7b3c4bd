"""A claim under limits is several transactions: what the first has claimed is not forgotten when the next fails."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from backstay.composition.connect import stores_on
from backstay.errors import StoreUnavailable
from backstay.stores.database.interface import Connection, Database, Lane
from backstay.testing.contract.limits import limited, of_customer
from backstay.testing.contract.support import REPORT, Store, ids, wanted


class Vanishing:
    """A lane to a database that cannot be reached any more after so many transactions."""

    def __init__(self, lane: Lane, *, after: int) -> None:
        self._lane, self._left = lane, after

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        self._use()
        return self._lane.transaction()

    async def fetch(self, name: str, /, **values: Any) -> Any:
        self._use()
        return await self._lane.fetch(name, **values)

    async def fetch_each(self, name: str, rows: Any, /, **same: Any) -> Any:
        self._use()
        return await self._lane.fetch_each(name, rows, **same)

    def _use(self) -> None:
        if self._left < 1:
            raise StoreUnavailable("cannot connect", was_sent=False)
        self._left -= 1


async def test_what_a_claim_has_got_before_it_is_interrupted_can_be_found(
    store: Store, database: Database
) -> None:
    """Its worker must look for it, so it must not believe that nothing was sent."""
    mine = await of_customer(store, 1)
    await store.register()
    claim_id = store.new_id()
    claims = stores_on(Vanishing(database.lane("test", size=4), after=1)).claims

    with pytest.raises(StoreUnavailable) as raised:
        await claims.claim_limited(
            (limited(),),
            (wanted("letter"),),
            worker="w",
            claim_id=claim_id,
            limit=10,
            limited_limit=10,
            suspects=1,
        )

    assert raised.value.was_sent
    assert ids(await store.stores.claims.strays("w", unanswered=[claim_id])) == [mine]


async def test_a_plain_claim_that_was_not_sent_says_so(store: Store, database: Database) -> None:
    await store.enqueue()
    await store.register()
    claims = stores_on(Vanishing(database.lane("test", size=4), after=0)).claims

    with pytest.raises(StoreUnavailable) as raised:
        await claims.claim((REPORT,), worker="w", claim_id=store.new_id(), limit=10, suspects=1)

    assert not raised.value.was_sent
