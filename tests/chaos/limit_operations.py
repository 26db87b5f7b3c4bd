"""Limits and their permits, ready to be cut."""

from __future__ import annotations

from typing import Any

from backstay.model.job import Claim
from backstay.model.limits.declared import KindLimits, Rate
from backstay.model.outcome import Released
from backstay.testing.contract.limits import limited, of_customer, take
from backstay.testing.contract.support import DAY, MINUTE, Store
from chaos.operations import CLAIM_ID, RUNS_OUT, Operation, settled_as

KEY = "key customer:7"
SLOW_START = limited(KindLimits(rate=Rate("1/m")))


async def two_of_a_customer(store: Store) -> None:
    await store.register()
    for _ in range(2):
        await of_customer(store, 7)


async def one_runs_one_waits(store: Store) -> list[Claim]:
    await two_of_a_customer(store)
    return await take(store)


async def permit_to_give_back(store: Store) -> list[Claim]:
    """The job has ended; its permit is still to be given back."""
    claims = await one_runs_one_waits(store)
    await settled_as(Released())(store, claims)
    return claims


async def token_has_come(store: Store) -> None:
    await two_of_a_customer(store)
    await take(store, SLOW_START)
    store.later(2 * MINUTE)


async def unused(store: Store) -> None:
    await permit_to_give_back(store)
    store.later(400 * DAY)


def claim_limited(store: Store, _: Any) -> Any:
    return store.stores.claims.claim_limited(
        (limited(),), (), worker="w", claim_id=CLAIM_ID, limit=5, limited_limit=5, suspects=1
    )


async def look_for_strays(store: Store, given: Any) -> None:
    """Give back what was claimed in a request that was not answered, with its permits, and claim again."""
    strays = await store.stores.claims.strays("w", unanswered=[CLAIM_ID])
    await settled_as(Released())(store, strays)
    await store.stores.limits.let_go(strays)
    await store.stores.limits.repair("", limit=9)
    await claim_limited(store, given)


LIMITS = (
    Operation(
        "claims.claim_limited", two_of_a_customer, claim_limited, go_on=look_for_strays, alike=RUNS_OUT
    ),
    Operation("limits.let_go", permit_to_give_back, lambda s, claims: s.stores.limits.let_go(claims)),
    Operation("limits.release", one_runs_one_waits, lambda s, _: s.stores.limits.release([KEY])),
    Operation("limits.release_due", token_has_come, lambda s, _: s.stores.limits.release_due(limit=9)),
    Operation("limits.repair", permit_to_give_back, lambda s, _: s.stores.limits.repair("", limit=9)),
    Operation("upkeep.forget_unused", unused, lambda s, _: s.forget_unused()),
    Operation("limits.rooms", one_runs_one_waits, lambda s, _: s.stores.limits.rooms([KEY])),
    Operation("limits.next_due", token_has_come, lambda s, _: s.stores.limits.next_due()),
    Operation("limits.rooms", one_runs_one_waits, lambda s, _: s.stores.limits.rooms([KEY])),
    Operation("limits.all", one_runs_one_waits, lambda s, _: s.stores.limits.all(limit=9, most=9)),
    Operation("limits.holders", one_runs_one_waits, lambda s, _: s.stores.limits.holders(KEY, limit=9)),
)
