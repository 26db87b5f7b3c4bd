"""Promoted fields: their columns, what fills them, and searching by them, once for both databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any
from uuid import UUID

from backstay.errors import FieldRefused, SchemaMismatch
from backstay.model.job import Job, JobId
from backstay.model.promoted_fields import PromotedColumn, Promotion
from backstay.model.promoted_values import NEEDS, FieldType
from backstay.model.records import Filled, JobFilter
from backstay.model.state_match import StateMatch
from backstay.stores import rows
from backstay.stores.database.interface import Connection, Lane
from backstay.stores.database.queries import Dialect, with_names
from backstay.stores.job_filters import search_values

LAST = JobId(UUID(int=2**128 - 1))
FIRST = JobId(UUID(int=0))
# No limit at all, but a planner who does not know that prefers a plan that gives the first jobs at once.
MOST = 2**62
# Fields that a database without such types stores in another form than they have in JSON.
REWRITTEN = (FieldType.UUID, FieldType.TIMESTAMP)
EVENTS = (("new", "INSERT"), ("changed", "UPDATE OF args"))


@dataclass(frozen=True, slots=True)
class PromotedStore:
    """Makes, fills and searches promoted fields on one lane."""

    lane: Lane

    async def missing(self, promotion: Promotion) -> list[str]:
        state = await _look(self.lane, promotion)
        return [*map(str, state.missing), *(f"what is no longer declared, {name}" for name in state.stale)]

    async def unfit(self, promotion: Promotion) -> list[str]:
        return list((await _look(self.lane, promotion)).unfit())

    async def promote(self, promotion: Promotion) -> list[str]:
        async with self.lane.transaction() as connection:
            await connection.fetch("promoted/take_turn")
            state = await _look(connection, promotion)
            await _refuse_what_cannot_be(connection, state)
            for name in state.stale:
                await connection.fetch(with_names("promoted/unwatch", {"name": name}))
            for query in _making(promotion, {(part.part, part.name) for part in state.missing}):
                await connection.fetch(query)
            return [str(part) for part in state.missing]

    async def demote(self, promotion: Promotion) -> bool:
        filling = (await _look(self.lane, promotion)).filling()
        if not filling:
            return False
        async with self.lane.transaction() as connection:
            await connection.fetch("promoted/take_turn")
            for name in filling:
                await connection.fetch(with_names("promoted/unwatch", {"name": name}))
        return True

    async def search(
        self,
        table: str,
        filters: JobFilter,
        *,
        before: JobId | None,
        limit: int,
        match: StateMatch | None = None,
    ) -> list[Job]:
        values = filters.promoted or {}
        named = dict(zip(values, (f"value_{letter}" for letter in ascii_lowercase), strict=False))
        fields = [{"field": field, "value": name} for field, name in named.items()]
        query = with_names("promoted/search", {"table": table, "fields": fields})
        given = {named[field]: value for field, value in values.items()}
        found = await self.lane.fetch(
            query, **{**search_values(filters, match), **given}, before=before or LAST, limit=limit, most=MOST
        )
        return [rows.job(row) for row in found]

    async def unfilled(self, promotion: Promotion, *, newest: int) -> list[JobId]:
        oldest = await self.lane.fetch("promoted/newest", newest=newest)
        return await self._unfilled(promotion, rows.job_id(oldest[0]["id"]) if oldest else FIRST, LAST)

    async def fill(self, promotion: Promotion, *, after: UUID, limit: int) -> Filled:
        page = await self.lane.fetch("jobs/by_age", after=JobId(after), limit=limit)
        if not page:
            return Filled(filled=0, problems={}, last=None)
        last = rows.job_id(page[-1]["id"])
        unfilled = await self._unfilled(promotion, JobId(after), last)
        try:
            await self._refill(unfilled)
            problems: dict[JobId, str] = {}
        except FieldRefused:
            # One bad job spoils the statement for all: one by one, only that one stays as it is.
            problems = await self._refill_each(unfilled)
        return Filled(
            filled=len(unfilled) - len(problems), problems=problems, last=last if len(page) == limit else None
        )

    async def _unfilled(self, promotion: Promotion, after: JobId, until: JobId) -> list[JobId]:
        query = with_names("promoted/unfilled", _names(promotion))
        found = await self.lane.fetch(query, after=after, until=until, kind=promotion.kind)
        return [rows.job_id(row["id"]) for row in found]

    async def _refill(self, job_ids: Sequence[JobId]) -> None:
        if job_ids:
            await self.lane.fetch("promoted/refill", ids=list(job_ids))

    async def _refill_each(self, job_ids: Sequence[JobId]) -> dict[JobId, str]:
        problems: dict[JobId, str] = {}
        for job_id in job_ids:
            try:
                await self._refill([job_id])
            except FieldRefused as error:
                problems[job_id] = str(error)
        return problems


@dataclass(frozen=True, slots=True)
class _Missing:
    """Something that a kind's promoted fields need and the database does not have so."""

    part: str
    name: str
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.part} {self.name}{self.problem}"


@dataclass(frozen=True, slots=True)
class _State:
    """What the database has of what a kind promotes."""

    promotion: Promotion
    found: Mapping[tuple[str, str], str]

    @property
    def missing(self) -> list[_Missing]:
        """What has to be made."""
        return [
            *self._missing_columns(),
            *(_Missing("trigger", name) for name in self._expected if ("trigger", name) not in self.found),
        ]

    @property
    def stale(self) -> list[str]:
        """What still fills this kind's fields as they were once declared."""
        return [name for name in self.filling() if name not in self._expected]

    def filling(self) -> list[str]:
        """Everything that fills fields of this kind."""
        own = f"{self.promotion.prefix}_"
        return [name for part, name in self.found if part == "trigger" and name.startswith(own)]

    def unfit(self) -> Iterator[str]:
        """Why jobs of this kind cannot be stored; a release that declares more may have been here already.

        An index or a foreign key that is missing is for the doctor: the values are stored all the same.
        """
        for field in self.promotion.fields:
            kind = self.found.get(("column", field.field))
            if kind != field.type:
                lacks = "" if kind is None else f", which is {kind} there"
                yield f"column {self.promotion.table}.{field.field}{lacks}"
        for suffix, _ in EVENTS:
            texts = [self.found["trigger", name] for name in self.filling() if name.endswith(f"_{suffix}")]
            for field in self.promotion.fields:
                if not any(f'"{field.field}"' in text for text in texts):
                    yield f"what fills {field.field} in {suffix} jobs"

    @property
    def _expected(self) -> list[str]:
        return [f"{self.promotion.trigger}_{suffix}" for suffix, _ in EVENTS]

    def _missing_columns(self) -> Iterator[_Missing]:
        table = self.promotion.table
        if ("column", "job_id") not in self.found:
            yield _Missing("table", table)
        for field in self.promotion.fields:
            name, declared = f"{table}.{field.field}", f", but {self.promotion.kind!r} promotes {field}"
            kind = self.found.get(("column", field.field))
            points = ("reference", f"{field.field}_must_exist") in self.found
            if kind is None:
                yield _Missing("column", name)
            elif kind != field.type:
                yield _Missing("column", name, f" is {kind}{declared}")
            elif points != (field.references is not None):
                yield _Missing("column", name, f" has {'a' if points else 'no'} foreign key{declared}")
            if ("index", f"{table}_{field.field}") not in self.found:
                yield _Missing("index", f"{table}_{field.field}")


async def _look(connection: Connection, promotion: Promotion) -> _State:
    described = await connection.fetch("promoted/describe", table=promotion.table)
    return _State(promotion, {(row["part"], row["name"]): row["detail"] for row in described})


async def _refuse_what_cannot_be(connection: Connection, state: _State) -> None:
    for part in state.missing:
        if part.problem:
            raise SchemaMismatch(
                f"cannot promote as declared: the {part}; give the field another name, or drop the column and run "
                "'backstay db migrate' and 'backstay db fill'"
            )
    for field in state.promotion.fields:
        target = field.references
        if target is not None and not await connection.fetch(
            "promoted/has_column", table=target.table, column=target.column
        ):
            raise SchemaMismatch(
                f"{state.promotion.kind!r} promotes {field}, but the database has no {target.target}: "
                "make that table first"
            )


def script(dialect: Dialect, promotions: Sequence[Promotion]) -> str:
    """The SQL that makes everything these kinds need, to read or to run by hand on tables without any."""
    queries = dict.fromkeys(query for promotion in promotions for query in _making(promotion, None))
    return "".join(f"\n{dialect.statement(query).sql};\n" for query in queries)


def _making(promotion: Promotion, missing: set[tuple[str, str]] | None) -> Iterator[str]:
    """The queries that make what is missing; None stands for everything."""

    def lacks(part: str, name: str) -> bool:
        return missing is None or (part, name) in missing

    table = promotion.table
    if lacks("table", table):
        yield with_names("promoted/create_table", {"table": table})
    for field in promotion.fields:
        names = {"table": table, **_field_names(field)}
        if lacks("column", f"{table}.{field.field}"):
            yield with_names(f"promoted/add_{'column' if field.references is None else 'reference'}", names)
        if lacks("index", f"{table}_{field.field}"):
            yield with_names("promoted/add_index", names)
    for suffix, event in EVENTS:
        name = f"{promotion.trigger}_{suffix}"
        if lacks("trigger", name):
            yield with_names("promoted/watch", {**_names(promotion), "name": name, "event": event})


def _names(promotion: Promotion) -> dict[str, Any]:
    every = [(field, _field_names(field)) for field in promotion.fields]
    fields = [names for field, names in every if not field.is_option]
    return {
        "table": promotion.table,
        "kind": promotion.kind,
        "fields": [names for _, names in every],
        "argument_fields": fields,
        "option_fields": [names for field, names in every if field.is_option],
        "choice_fields": [names for field, names in every if field.one_of and not field.is_option],
        "chosen_options": [names for field, names in every if field.one_of and field.is_option],
        "bounded_fields": [names for field, names in every if field.rule and not field.one_of],
        "plain_fields": [field for field in fields if "target" not in field],
        "references": [field for field in fields if "target" in field],
        "simple_fields": [field for field in fields if field["type"] not in REWRITTEN],
        **{f"{kind}_fields": [field for field in fields if field["type"] == kind] for kind in FieldType},
    }


def _field_names(field: PromotedColumn) -> dict[str, str]:
    names = {"field": field.field, "type": field.type.value, "needs": NEEDS[field.type]}
    if field.references is not None:
        names["target"] = field.references.table
        names["target_column"] = field.references.column
        names["on_delete"] = field.references.on_delete
    if field.rule is not None:
        names["must"] = field.rule
    if field.one_of:
        names["choices"] = " ".join(field.one_of)
    elif field.rule is not None:
        names["minimum"] = str(-(2**63) if field.minimum is None else field.minimum)
        names["maximum"] = str(2**63 - 1 if field.maximum is None else field.maximum)
    return names
