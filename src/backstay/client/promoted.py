"""Promoted fields: bringing their columns into the database, filling them and searching by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from backstay.client.declaring import promotion_of, record_of
from backstay.client.enqueue.building import Builder
from backstay.errors import InvalidPolicy, SchemaMismatch
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import JobId
from backstay.model.promoted_fields import Promotion, sought, table_for
from backstay.model.records import Filled
from backstay.stores.contract import Stores

FIRST = UUID(int=0)
MOST_PROBLEMS = 100
MOST_FIELDS = 8


@dataclass(frozen=True)
class PromotedFields:
    """The promoted fields of one application, from one event loop."""

    stores: Stores
    registry: Registry
    builder: Builder
    fit: set[str] = field(default_factory=set)

    def declared(self) -> list[Promotion]:
        """What this application's kinds promote."""
        return [promotion_of(spec, self.builder.profile) for spec in self.registry if spec.promoted]

    async def migrate(self) -> list[str]:
        """Make the columns, indexes and triggers that the kinds of this application need; returns what was made.

        Safe to run twice and while workers run; every kind is done whole or not at all. Columns are never dropped.
        """
        made: list[str] = []
        for spec in self.registry:
            promotion = promotion_of(spec, self.builder.profile) if spec.promoted else None
            if promotion is None:
                if await self.stores.promoted.demote(Promotion(spec.kind, self._table, ())):
                    made.append(f"{spec.kind} promotes nothing any more")
                continue
            made += await self.stores.promoted.promote(promotion)
        await self._declare()
        return made

    async def drift(self) -> list[str]:
        """How the database differs from what kinds declare, a line each."""
        return [
            f"missing for {promotion.kind!r}: {line}"
            for promotion in await self.known()
            for line in await self.stores.promoted.missing(promotion)
        ]

    async def fill(self, *, chunk: int = 500) -> Filled:
        """Fill what is not filled in all jobs, oldest first, `chunk` jobs at a time.

        Jobs whose value does not fit, or points at nothing, stay as they are; `problems` names the first hundred.
        Stopped in the middle, it goes on when called again.
        """
        filled, problems = 0, dict[JobId, str]()
        for promotion in await self.known():
            after: UUID | None = FIRST
            while after is not None:
                done = await self.stores.promoted.fill(promotion, after=after, limit=chunk)
                filled += done.filled
                problems.update(list(done.problems.items())[: MOST_PROBLEMS - len(problems)])
                after = done.last
        return Filled(filled=filled, problems=problems, last=None)

    async def known(self) -> list[Promotion]:
        """What kinds promote: those of this application, or where it has none, all that the database knows."""
        own = self.declared()
        if own:
            return own
        return [
            Promotion.from_json(record.kind, record.promoted)
            for record in await self.stores.kinds.all()
            if record.promoted and record.kind not in self.registry
        ]

    async def _require(self, specs: Sequence[HandlerSpec]) -> None:
        """Raise SchemaMismatch unless the database fills what these kinds promote; asked once for each kind."""
        for spec in specs:
            if not spec.promoted or spec.kind in self.fit:
                continue
            unfit = await self.stores.promoted.unfit(promotion_of(spec, self.builder.profile))
            if unfit:
                raise SchemaMismatch(
                    f"{spec.kind!r} promotes fields that the database does not have yet ({', '.join(unfit)}): "
                    "run 'backstay db migrate --app module:app'"
                )
            self.fit.add(spec.kind)

    async def _located(self, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The table to search in and the values as it has them; raises InvalidPolicy for what is not promoted."""
        if len(given) > MOST_FIELDS:
            raise InvalidPolicy("promoted", len(given), needs=f"at most {MOST_FIELDS} fields")
        tables: dict[str, dict[str, Any]] = {}
        for promotion in await self.known():
            fields = tables.setdefault(promotion.table, {})
            fields.update({promoted.field: promoted for promoted in promotion.fields})
        # Its own table first, should several applications with profiles of their own share the database.
        for table in sorted(tables, key=lambda table: (table != self._table, table)):
            if tables[table].keys() >= given.keys():
                return table, {name: sought(tables[table][name], value) for name, value in given.items()}
        names = sorted({name for fields in tables.values() for name in fields})
        strange = next((name for name in given if name not in names), ", ".join(given))
        raise InvalidPolicy(
            "promoted", strange, needs=f"promoted fields: {', '.join(names) or 'no kind declares any'}"
        )

    @property
    def _table(self) -> str:
        return table_for(self.builder.profile.name)

    async def _declare(self) -> None:
        """Store which fields the kinds promote, as a worker does; kinds without a handler here stay as they are."""
        known = {record.kind for record in await self.stores.kinds.all()}
        records = [
            record_of(spec, self.builder, self.registry)
            for spec in self.registry
            if spec.promoted and (spec.kind not in known or not spec.is_declared_only)
        ]
        if records:
            await self.stores.kinds.declare(records)
