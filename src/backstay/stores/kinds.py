"""What is known of kinds across processes, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from backstay.model.records import KindRecord
from backstay.stores import rows
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class KindStore:
    """Remembers kinds on one lane."""

    lane: Lane

    async def declare(self, kinds: Sequence[KindRecord]) -> None:
        ordered = sorted(kinds, key=lambda record: record.kind)
        await self.lane.fetch_each("kinds/declare", [_values(record) for record in ordered])

    async def add_routes(self, routes: Sequence[tuple[str, str]]) -> None:
        await self.lane.fetch_each(
            "kinds/add_route", [{"queue": queue, "kind": kind} for queue, kind in sorted(routes)]
        )

    async def all(self) -> list[KindRecord]:
        return [rows.kind(row) for row in await self.lane.fetch("kinds/all")]


def _values(record: KindRecord) -> dict[str, str | bool | None]:
    return {
        "kind": record.kind,
        "queue": record.queue,
        "policy": msgspec.json.encode(record.policy).decode(),
        "promoted": None if record.promoted is None else msgspec.json.encode(record.promoted).decode(),
        "arguments": None if record.arguments is None else msgspec.json.encode(record.arguments).decode(),
        "fingerprint": record.fingerprint,
        "description": record.description,
        "declared_by": record.declared_by,
        "ordered_by": record.ordered_by,
        "reactions": None if record.reactions is None else msgspec.json.encode(record.reactions).decode(),
        "is_limited": record.is_limited,
    }
