"""Imports, their batches, rejects and before-images, and the records that they write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from backstay_aeon.domain.errors import Missing
from backstay_aeon.domain.imports.batches import BatchPlan, Row, Stored
from backstay_aeon.domain.imports.columns import Dataset, as_json, read_dataset
from backstay_aeon.store.database import Connection, Database

COUNTS = """
SELECT coalesce(sum(inserted), 0)::bigint AS inserted, coalesce(sum(updated), 0)::bigint AS updated,
       coalesce(sum(unchanged), 0)::bigint AS unchanged,
       (SELECT count(*) FROM aeon.import_rejects WHERE import_id = $1 AND corrected_in IS NULL) AS refused,
       coalesce(max(last_row) FILTER (WHERE part = 0), 0)::bigint AS rows_read
FROM aeon.import_batches WHERE import_id = $1
"""
# What an import wrote stands in its records, or, where a later import has changed one, in what that one kept of it.
RECORDS = """
SELECT count(*)::bigint AS records,
       encode(sha256(coalesce(string_agg(sha256(convert_to(external_key || ' ' || data::text, 'UTF8')), ''::bytea
           ORDER BY external_key, data::text), ''::bytea)), 'hex') AS sha256
FROM (
    SELECT external_key, data FROM aeon.imported_records WHERE team_id = $2 AND dataset = $3 AND import_id = $1
    UNION
    SELECT kept.external_key, kept.data FROM aeon.before_images AS kept
    JOIN aeon.imports AS later ON later.id = kept.import_id AND later.team_id = $2 AND later.dataset = $3
    WHERE kept.previous_import_id = $1
) AS written
"""


async def dataset(connection: Connection, team_id: UUID, name: str) -> Dataset | None:
    """The dataset of this name, if it is defined."""
    row = await connection.fetchrow(
        "SELECT key_column, columns FROM aeon.datasets WHERE team_id = $1 AND name = $2", team_id, name
    )
    return None if row is None else read_dataset(name, {"key": row["key_column"], "columns": row["columns"]})


async def save_dataset(connection: Connection, team_id: UUID, one: Dataset) -> None:
    """Define a dataset, or define it anew."""
    await connection.execute(
        "INSERT INTO aeon.datasets (team_id, name, key_column, columns) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (team_id, name) DO UPDATE SET key_column = excluded.key_column, columns = excluded.columns",
        team_id,
        one.name,
        one.key,
        as_json(one)["columns"],
    )


async def get(connection: Connection, import_id: UUID, team_id: UUID | None = None) -> dict[str, Any]:
    """One import; raises Missing, also for one of another team."""
    row = await connection.fetchrow(
        "SELECT i.*, f.name AS file_name, f.storage_key, f.sha256 AS file_sha256, f.size AS file_size"
        " FROM aeon.imports i LEFT JOIN aeon.files f ON f.id = i.file_id"
        " WHERE i.id = $1 AND ($2::uuid IS NULL OR i.team_id = $2)",
        import_id,
        team_id,
    )
    if row is None:
        raise Missing(f"there is no import {import_id}")
    return dict(row)


async def of(database: Database, import_id: UUID, team_id: UUID | None = None) -> dict[str, Any]:
    """The same on a connection of its own."""
    async with database.connection() as connection:
        return await get(connection, import_id, team_id)


async def add(database: Database, values: dict[str, Any]) -> None:
    """Note an import; a repetition changes nothing."""
    names, places = ", ".join(values), ", ".join(f"${number}" for number in range(1, len(values) + 1))
    await database.execute(
        f"INSERT INTO aeon.imports ({names}) VALUES ({places}) ON CONFLICT (id) DO NOTHING", *values.values()
    )


async def part_key(database: Database, import_id: UUID, part: int) -> str:
    """Where the file of corrected rows stands in the storage; raises Missing if it is gone."""
    key: str | None = await database.value(
        "SELECT f.storage_key FROM aeon.import_parts p JOIN aeon.files f ON f.id = p.file_id"
        " WHERE p.import_id = $1 AND p.part = $2",
        import_id,
        part,
    )
    if key is None:
        raise Missing(f"part {part} of the import {import_id} has no file")
    return key


async def remap(database: Database, import_id: UUID, mapping: dict[str, str]) -> bool:
    """Give an import another mapping, as long as nothing of it is written; False if something is."""
    changed = await database.value(
        "UPDATE aeon.imports SET mapping = $2, status = 'draft', dry_run = NULL, notes = '[]' WHERE id = $1"
        " AND status IN ('draft', 'failed') AND NOT EXISTS (SELECT 1 FROM aeon.import_batches WHERE import_id = $1)"
        " RETURNING TRUE",
        import_id,
        mapping,
    )
    return bool(changed)


async def counts(connection: Connection, import_id: UUID) -> dict[str, int]:
    """How many rows were inserted, updated, unchanged and are refused, and how many were read."""
    return {name: int(value) for name, value in (await connection.fetchrow(COUNTS, import_id)).items()}


async def reasons(connection: Connection, import_id: UUID) -> dict[str, int]:
    """How many refused rows have which first reason."""
    rows = await connection.fetch(
        "SELECT problems -> 0 ->> 'code' AS code, count(*) AS n FROM aeon.import_rejects"
        " WHERE import_id = $1 AND corrected_in IS NULL GROUP BY 1 ORDER BY 2 DESC, 1",
        import_id,
    )
    return {row["code"]: row["n"] for row in rows}


async def written_up_to(connection: Connection, import_id: UUID, part: int) -> int:
    """The last row of the batches that are written."""
    found = await connection.fetchval(
        "SELECT max(last_row) FROM aeon.import_batches WHERE import_id = $1 AND part = $2", import_id, part
    )
    return int(found or 0)


async def lock_dataset(connection: Connection, team_id: UUID, name: str) -> None:
    """Let imports of one dataset write one batch after the other, until the transaction ends."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 6006))", f"{team_id}/{name}")


async def stored(connection: Connection, team_id: UUID, name: str, keys: Sequence[str]) -> dict[str, Stored]:
    """The records that are there under some keys."""
    rows = await connection.fetch(
        "SELECT external_key, data, import_id, row_number FROM aeon.imported_records"
        " WHERE team_id = $1 AND dataset = $2 AND external_key = ANY($3)",
        team_id,
        name,
        list(keys),
    )
    return {
        row["external_key"]: Stored(row["data"], str(row["import_id"]), row["row_number"]) for row in rows
    }


async def write(connection: Connection, one: dict[str, Any], part: int, plan: BatchPlan, worker: str) -> None:
    """Write one batch: before-images, records, rejects and the checkpoint, in the caller's transaction."""
    import_id, team_id, name = one["id"], one["team_id"], one["dataset"]
    if plan.updates:
        await connection.execute(
            "INSERT INTO aeon.before_images (import_id, external_key, data, previous_import_id, previous_row)"
            " SELECT $1, external_key, data, import_id, row_number FROM aeon.imported_records"
            " WHERE team_id = $2 AND dataset = $3 AND external_key = ANY($4) AND import_id <> $1"
            " ON CONFLICT DO NOTHING",
            import_id,
            team_id,
            name,
            [row.key for row in plan.updates],
        )
    await _write_records(connection, one, [*plan.inserts, *plan.updates])
    await write_rejects(connection, import_id, part, plan.refused)
    figures = plan.counts()
    await connection.execute(
        "INSERT INTO aeon.import_batches"
        " (import_id, part, first_row, last_row, inserted, updated, unchanged, refused, sha256, worker)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        import_id,
        part,
        plan.first_row,
        plan.last_row,
        figures["inserted"],
        figures["updated"],
        figures["unchanged"],
        figures["refused"],
        plan.sha256(),
        worker,
    )


async def _write_records(connection: Connection, one: dict[str, Any], changed: Sequence[Row]) -> None:
    """Insert records, or put what is new in place of what is there."""
    if changed:
        await connection.execute(
            "INSERT INTO aeon.imported_records"
            " (team_id, dataset, external_key, data, first_import_id, import_id, row_number)"
            " SELECT $1, $2, given.key, given.data::jsonb, $3, $3, given.number"
            " FROM unnest($4::text[], $5::text[], $6::bigint[]) AS given (key, data, number)"
            " ON CONFLICT (team_id, dataset, external_key) DO UPDATE"
            " SET data = excluded.data, import_id = excluded.import_id, row_number = excluded.row_number,"
            "     updated_at = now()",
            one["team_id"],
            one["dataset"],
            one["id"],
            [row.key for row in changed],
            [json.dumps(row.data, ensure_ascii=False) for row in changed],
            [row.number for row in changed],
        )


async def write_rejects(connection: Connection, import_id: UUID, part: int, rows: Sequence[Row]) -> None:
    """Keep refused rows as they came, with their reasons; a corrected one that is bad again is kept anew."""
    if rows:
        await connection.execute(
            "INSERT INTO aeon.import_rejects (import_id, row_number, cells, problems, part)"
            " SELECT $1, given.number, given.cells::jsonb, given.problems::jsonb, $2"
            " FROM unnest($3::bigint[], $4::text[], $5::text[]) AS given (number, cells, problems)"
            " ON CONFLICT (import_id, row_number) DO UPDATE"
            " SET cells = excluded.cells, problems = excluded.problems, part = excluded.part",
            import_id,
            part,
            [row.number for row in rows],
            [json.dumps(row.cells, default=str, ensure_ascii=False) for row in rows],
            [json.dumps([one.as_json() for one in row.problems], ensure_ascii=False) for row in rows],
        )


async def open_rejects(connection: Connection, import_id: UUID) -> list[dict[str, Any]]:
    """The rows that are refused now, in the order of the file."""
    rows = await connection.fetch(
        "SELECT row_number, cells, problems FROM aeon.import_rejects"
        " WHERE import_id = $1 AND corrected_in IS NULL ORDER BY row_number",
        import_id,
    )
    return [dict(row) for row in rows]


async def close_rejects(connection: Connection, import_id: UUID, part: int, numbers: Sequence[int]) -> None:
    """Note that refused rows came back corrected."""
    await connection.execute(
        "UPDATE aeon.import_rejects SET corrected_in = $2 WHERE import_id = $1 AND row_number = ANY($3)",
        import_id,
        part,
        list(numbers),
    )


async def hashes(connection: Connection, import_id: UUID) -> list[str]:
    """The hashes of all batches, in order."""
    rows = await connection.fetch(
        "SELECT sha256 FROM aeon.import_batches WHERE import_id = $1 ORDER BY part, first_row", import_id
    )
    return [row["sha256"] for row in rows]


async def records_hash(connection: Connection, one: dict[str, Any]) -> dict[str, Any]:
    """How many records an import wrote, and one hash over what stands in them."""
    return dict(await connection.fetchrow(RECORDS, one["id"], one["team_id"], one["dataset"]))


async def undo(connection: Connection, one: dict[str, Any]) -> dict[str, Any]:
    """Take back what an import wrote, but for records that a later import has changed."""
    import_id, team_id, name = one["id"], one["team_id"], one["dataset"]
    later = await connection.fetch(
        "SELECT r.external_key, r.import_id FROM aeon.imported_records r"
        " WHERE r.team_id = $2 AND r.dataset = $3 AND r.import_id <> $1"
        " AND (r.first_import_id = $1 OR EXISTS (SELECT 1 FROM aeon.before_images b"
        "      WHERE b.import_id = $1 AND b.external_key = r.external_key)) ORDER BY 1",
        import_id,
        team_id,
        name,
    )
    restored = await connection.execute(
        "UPDATE aeon.imported_records r SET data = b.data, import_id = b.previous_import_id,"
        " row_number = b.previous_row, updated_at = now() FROM aeon.before_images b"
        " WHERE b.import_id = $1 AND r.team_id = $2 AND r.dataset = $3 AND r.external_key = b.external_key"
        " AND r.import_id = $1",
        import_id,
        team_id,
        name,
    )
    removed = await connection.execute(
        "DELETE FROM aeon.imported_records WHERE team_id = $2 AND dataset = $3 AND import_id = $1"
        " AND first_import_id = $1",
        import_id,
        team_id,
        name,
    )
    await connection.execute(
        "UPDATE aeon.imports SET status = 'undone', undone_at = clock_timestamp() WHERE id = $1", import_id
    )
    return {
        "removed": int(removed.split()[-1]),
        "restored": int(restored.split()[-1]),
        "refused": len(later),
        "refused_records": [
            {"key": row["external_key"], "changed_by_import": str(row["import_id"])} for row in later[:100]
        ],
    }


async def of_team(database: Database, team_id: UUID) -> list[dict[str, Any]]:
    """The newest imports of a team."""
    return await database.rows(
        "SELECT i.id, i.dataset, i.status, i.total_rows, i.created_at, f.name AS file FROM aeon.imports i"
        " LEFT JOIN aeon.files f ON f.id = i.file_id WHERE i.team_id = $1 ORDER BY i.created_at DESC LIMIT 100",
        team_id,
    )
