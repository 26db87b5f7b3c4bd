"""Old jobs with all that belongs to them, once for both databases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.model.archive import JOBS, TABLES
from backstay.model.states import State
from backstay.stores import finished, rows
from backstay.stores.contract.archive import Ended, WholeJob
from backstay.stores.database.interface import Lane
from backstay.stores.database.queries import with_names


@dataclass(frozen=True, slots=True)
class ArchiveStore:
    """Reads, removes and puts back on one lane."""

    lane: Lane

    async def ended(self, keep: Mapping[State, timedelta], *, after: UUID, limit: int) -> Ended:
        return await finished.find(self.lane, keep, after=after, limit=limit)

    async def whole(self, ids: Sequence[UUID]) -> list[WholeJob]:
        found: dict[UUID, dict[str, list[dict[str, Any]]]] = {}
        async with self.lane.transaction() as connection:
            free = [row["id"] for row in await connection.fetch("archive/removable", ids=ids)]
            for table in TABLES:
                for row in await connection.fetch(_query("rows", table), ids=free):
                    job = found.setdefault(rows.job_id(row["job_id"]), {})
                    job.setdefault(table, []).append(json.loads(row["item"]))
        return [found[job_id] for job_id in sorted(found)]

    async def remove(self, ids: Sequence[UUID], *, finished_before: datetime) -> int:
        return await finished.remove(self.lane, ids, finished_before=finished_before)

    async def put_back(self, jobs: Sequence[WholeJob]) -> int:
        new = set[UUID]()
        async with self.lane.transaction() as connection:
            for table in TABLES:
                items = [
                    row for job in jobs for row in job.get(table, ()) if table == JOBS or _id(job) in new
                ]
                if not items:
                    continue
                put = await connection.fetch(_query("put", table, items[0]), items=json.dumps(items))
                if table == JOBS:
                    new = {rows.job_id(row["job_id"]) for row in put}
        return len(new)


def _id(job: WholeJob) -> UUID:
    return UUID(job[JOBS][0]["id"])


def _query(verb: str, table: str, given: Mapping[str, Any] | None = None) -> str:
    """The query for a table; of an older release's rows the columns that they have."""
    key, columns = TABLES[table]
    names = [{"column": name} for name in columns if given is None or name in given]
    return with_names(f"archive/{verb}", {"table": table, "key": key, "columns": names})
