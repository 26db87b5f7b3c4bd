"""Figures over time, ready to be cut."""

from __future__ import annotations

from backstay.model.figures import Measure, Period, Tallied
from backstay.testing.contract.support import DAY, Store
from chaos.operations import Operation, nothing

COUNTED = [
    Tallied(queue="default", kind="report", measure=measure, bucket=2, jobs=3, took_ms=7)
    for measure in (Measure.COMPLETED, Measure.FAILED)
]


async def counted(store: Store) -> None:
    await store.stores.figures.add(COUNTED)


async def counted_long_ago(store: Store) -> None:
    await counted(store)
    store.later(3 * DAY)


async def read(store: Store, _: None) -> None:
    now = store.now()
    await store.stores.figures.read(
        Period.MINUTE, since=now - DAY, until=now + DAY, queue=None, kind=None, limit=9
    )


FIGURES = (
    # Nobody counts the same attempts again: what was not added is given up.
    Operation("figures.add", nothing, lambda s, _: s.stores.figures.add(COUNTED), is_best_effort=True),
    Operation("figures.read", counted, read),
    Operation("figures.depths", nothing, lambda s, _: s.stores.figures.depths(most=9)),
    Operation("figures.by_tenant", nothing, lambda s, _: s.stores.figures.by_tenant(most=9, limit=9)),
    Operation(
        "figures.forget", counted_long_ago, lambda s, _: s.stores.figures.forget(minutes=DAY, hours=DAY)
    ),
)
