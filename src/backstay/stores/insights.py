"""Looking across all jobs for what may be wrong, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from backstay.model.job import JobId
from backstay.model.records import BrokenRule, Engine, Health, OpenTransaction, TableHealth, Waiting
from backstay.stores import rows
from backstay.stores.database.interface import Lane, Row
from backstay.stores.database.migrate import compare
from backstay.stores.database.queries import SQL

AHEAD = timedelta(minutes=1)
"""A row dated further ahead than this was written by a clock that has been set back since."""


@dataclass(frozen=True, slots=True)
class InsightStore:
    """Looks on one lane; every query is bounded or reads a partial index."""

    lane: Lane

    async def waiting(self, *, most: int = 1000) -> list[Waiting]:
        return [_waiting(row) for row in await self.lane.fetch("insights/waiting", most=most)]

    async def routes(self) -> frozenset[tuple[str, str]]:
        return frozenset((row["queue"], row["kind"]) for row in await self.lane.fetch("kinds/routes"))

    async def stuck(self, *, grace: timedelta, most: int = 1000) -> int:
        return int((await self.lane.fetch("insights/stuck", grace=grace, most=most))[0]["jobs"])

    async def broken(self, *, newest: int) -> list[BrokenRule]:
        found = await self.lane.fetch("insights/broken", newest=newest, ahead=AHEAD)
        return [BrokenRule(row["rule"], row["jobs"], rows.job_id(row["example"])) for row in found]

    async def open_dead_letters(self, *, most: int = 1000) -> int:
        return int((await self.lane.fetch("insights/open_dead_letters", most=most))[0]["dead_letters"])

    async def misfits(self, *, most: int = 1000) -> dict[str, int]:
        return {row["kind"]: int(row["jobs"]) for row in await self.lane.fetch("insights/misfits", most=most)}

    async def health(self) -> Health:
        tables = await self.lane.fetch("insights/tables")
        oldest = await self.lane.fetch("insights/oldest_transaction")
        return Health(
            tables=tuple(TableHealth(row["name"], row["live"], row["dead"]) for row in tables),
            oldest=next(
                (OpenTransaction(row["pid"], row["application"], row["open_for"]) for row in oldest), None
            ),
        )

    async def ahead(self, job_id: JobId, *, limit: int) -> int:
        return int((await self.lane.fetch("insights/ahead", id=job_id, limit=limit))[0]["jobs"])

    async def engine(self) -> Engine:
        row = (await self.lane.fetch("insights/engine"))[0]
        return Engine(row["name"], row["version"], rows.moment(row["now"]))

    async def drift(self) -> list[str]:
        expected = (SQL / (await self.engine()).name / "schema.txt").read_text("utf-8").splitlines()
        found = [row["line"] for row in await self.lane.fetch("schema/describe")]
        return [str(difference) for difference in compare(expected, found)]


def _waiting(row: Row) -> Waiting:
    return Waiting(
        queue=row["queue"],
        kind=row["kind"],
        jobs=row["jobs"],
        oldest_for=rows.moment(row["now"]) - rows.moment(row["oldest_run_at"]),
    )
