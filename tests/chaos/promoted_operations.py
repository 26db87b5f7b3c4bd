"""Promoted fields, ready to be cut: they make tables, so a cut is undone by arranging everything anew."""

from __future__ import annotations

from typing import Any

from backstay.model.promoted_fields import PromotedColumn, Promotion
from backstay.model.promoted_values import FieldType
from backstay.model.records import JobFilter
from backstay.testing.contract.support import Store
from chaos.operations import START, Operation

VISIT = Promotion(
    "visit",
    "promoted_visits",
    (PromotedColumn("page", FieldType.INTEGER), PromotedColumn("note", FieldType.TEXT)),
)
EARLIER = Promotion(VISIT.kind, VISIT.table, VISIT.fields[:1])


async def visits(store: Store) -> None:
    await store.enqueue_many(2, kind="visit", args='{"page": 1, "note": "a"}')


async def promoted(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)


async def promoted_earlier(store: Store) -> None:
    """As an earlier release declared them."""
    await store.stores.promoted.promote(EARLIER)


async def filled(store: Store) -> None:
    await promoted(store)
    await visits(store)


async def unfilled(store: Store) -> None:
    """Jobs that are older than their fields."""
    await visits(store)
    await promoted(store)


def promote(store: Store, _: Any) -> Any:
    return store.stores.promoted.promote(VISIT)


async def search(store: Store, _: Any) -> Any:
    filters = JobFilter(promoted={"page": 1})
    return await store.stores.promoted.search(VISIT.table, filters, before=None, limit=9)


MAKES: dict[str, Any] = {"makes_tables": True}

PROMOTED = (
    Operation("promoted.promote", visits, promote, **MAKES),
    Operation("promoted.promote", promoted_earlier, promote, **MAKES),
    Operation("promoted.demote", filled, lambda s, _: s.stores.promoted.demote(VISIT), **MAKES),
    Operation("promoted.fill", unfilled, lambda s, _: s.stores.promoted.fill(VISIT, after=START, limit=9)),
    Operation("promoted.missing", promoted_earlier, lambda s, _: s.stores.promoted.missing(VISIT)),
    Operation("promoted.unfit", promoted_earlier, lambda s, _: s.stores.promoted.unfit(VISIT)),
    Operation("promoted.unfilled", unfilled, lambda s, _: s.stores.promoted.unfilled(VISIT, newest=9)),
    Operation("promoted.search", filled, search),
)
