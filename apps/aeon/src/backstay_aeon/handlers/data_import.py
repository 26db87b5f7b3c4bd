"""data_import: rows of a file into a dataset, batch by batch, so that a crash costs one batch at most."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

from backstay import Backoff, ClassRule, Context
from backstay_aeon import services
from backstay_aeon.actions import fetching
from backstay_aeon.domain.errors import BadRequest, ValidationError
from backstay_aeon.domain.imports import mapping as mappings
from backstay_aeon.domain.imports.batches import Checker, Row, Seen, checked_rows, in_batches, plan_batch
from backstay_aeon.domain.imports.columns import Dataset
from backstay_aeon.domain.imports.reading import FORMATS, Form, read_rows, sniff
from backstay_aeon.domain.imports.rejects import is_incomplete, is_ours, is_reject_file, numbered
from backstay_aeon.job_types import Envelope, JobType, add
from backstay_aeon.profile import CLASSES
from backstay_aeon.services import Services
from backstay_aeon.store import imports

SAMPLE = 200


class DataImport(JobType):
    """Import a table into a dataset."""

    name = "data_import"
    runs_in_process = True
    # It goes on at its next row, so machines that die again and again cost it time and nothing else.
    policy: ClassVar[Mapping[str, Any]] = {
        "max_crashes": 50,
        "classes": {**CLASSES, "crashed": ClassRule(max_attempts=100, backoff=Backoff.fixed(1))},
    }
    queue = "imports"
    title = "Import a table"

    def validate(self, payload: dict[str, Any]) -> None:
        """A source and a dataset, or the id of an import that is there already."""
        if "import_id" in payload:
            _uuid(payload["import_id"], "payload/import_id")
            return
        for name in ("source", "dataset"):
            if not isinstance(payload.get(name), str) or not payload[name]:
                raise BadRequest(f"a data_import needs a {name}", field=f"payload/{name}")
        if payload.get("format") not in (None, *FORMATS):
            raise BadRequest(f"the format is one of {', '.join(FORMATS)}", field="payload/format")
        mappings.check_options(payload, "payload/")

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        """Read, check and write; or only count, for a dry run."""
        here = services.here()
        one = await _import_of(ctx, here, payload, envelope)
        if payload.get("part"):
            part = int(payload["part"])
            async with here.files.local(await imports.part_key(here.database, one["id"], part)) as path:
                return await Resubmission(ctx, here, one, part).run(path)
        async with here.files.local(one["storage_key"]) as path:
            run = Run(ctx, here, one)
            await run.prepare(path)
            return await (run.count(path) if payload.get("dry_run") else run.write(path))

    async def on_failure(self, ctx: Context, payload: dict[str, Any], error: Exception) -> None:
        """Show the failure where the team looks for it."""
        import_id = payload.get("import_id", ctx.job_id)
        if ctx.attempt >= ctx.max_attempts or isinstance(error, ValidationError | BadRequest):
            await services.here().database.execute(
                "UPDATE aeon.imports SET status = 'failed', finished_at = clock_timestamp(),"
                " notes = notes || $2::jsonb WHERE id = $1 AND status IN ('waiting', 'running', 'draft')",
                UUID(str(import_id)),
                [str(error)],
            )


class Run:
    """One attempt of an import."""

    def __init__(self, ctx: Context, here: Services, one: dict[str, Any]) -> None:
        self.ctx, self.here, self.one = ctx, here, one
        self.form = Form(one["form"].get("format", "csv"))
        self.dataset: Dataset | None = None
        self.mapping: dict[str, str] = {}

    async def prepare(self, path: Path) -> None:
        """Find out form, dataset and mapping, and remember them: later attempts read the file in the same way."""
        stored = self.one["form"]
        self.form = (
            Form.from_json(stored)
            if stored.get("headers")
            else sniff(path, self.one["file_name"], stored.get("format", ""))
        )
        async with self.here.database.transaction() as connection:
            self.dataset = await imports.dataset(connection, self.one["team_id"], self.one["dataset"])
            if self.dataset is None:
                sample = [row for _, row in zip(range(SAMPLE), read_rows(path, self.form), strict=False)]
                self.dataset = mappings.infer(self.one["dataset"], self.form.headers, sample)
                await imports.save_dataset(connection, self.one["team_id"], self.dataset)
            guessed = mappings.guess(self.form.headers, self.dataset)
            self.mapping = mappings.checked(self.one["mapping"] or guessed, self.form.headers, self.dataset)
            await connection.execute(
                "UPDATE aeon.imports SET form = $2, mapping = $3 WHERE id = $1",
                self.one["id"],
                self.form.as_json(),
                self.mapping,
            )
        mappings.complete(self.mapping, self.form.headers, self.dataset)

    def rows(self, path: Path) -> Any:
        """All rows of the file, checked."""
        assert self.dataset is not None
        checker = Checker(self.dataset, self.form.headers, self.mapping)
        return checked_rows(checker, read_rows(path, self.form), Seen())

    async def count(self, path: Path) -> dict[str, Any]:
        """A dry run: what would become of every row; nothing is written but the figures."""
        totals: Counter[str] = Counter()
        reasons: Counter[str] = Counter()
        examples: list[dict[str, Any]] = []
        for batch in in_batches(self.rows(path), self.one["batch_size"]):
            self.ctx.check()
            async with self.here.database.connection() as connection:
                plan = plan_batch(batch, await self._stored(connection, batch))
            totals.update(plan.counts())
            reasons.update(plan.reasons())
            examples += [_example(row) for row in plan.refused[: 20 - len(examples)]]
            self.ctx.progress(plan.last_row, self.one["total_rows"], f"{plan.last_row:,} rows checked")
        rows = sum(totals.values())
        figures = {
            "rows": rows,
            "new": totals["inserted"],
            "changed": totals["updated"],
            "unchanged": totals["unchanged"],
            "refused": totals["refused"],
            "reasons": dict(reasons.most_common()),
            "examples": examples,
        }
        await self.here.database.execute(
            "UPDATE aeon.imports SET dry_run = $2, total_rows = $3 WHERE id = $1",
            self.one["id"],
            figures,
            rows,
        )
        return {**figures, "import_id": str(self.one["id"])}

    async def write(self, path: Path) -> dict[str, Any]:
        """Write every batch that is not written yet."""
        if self.one["on_error"] == "fail":
            figures = await self.count(path)
            if figures["refused"]:
                raise ValidationError(
                    f"{figures['refused']} of {figures['rows']} rows are refused and on_error is fail: "
                    f"nothing was imported ({figures['reasons']})"
                )
        total = self.one["total_rows"] or sum(1 for _ in read_rows(path, self.form))
        if total > self.here.settings.max_rows:
            raise ValidationError(f"the file has {total} rows; {self.here.settings.max_rows} are allowed")
        done = await self._begin(total)
        for batch in in_batches(self.rows(path), self.one["batch_size"]):
            if batch[-1].number <= done:
                continue
            left = [row for row in batch if row.number > done]
            self.ctx.check()
            self.ctx.ensure_lease()
            async with self.here.database.transaction() as connection:
                await imports.lock_dataset(connection, self.one["team_id"], self.one["dataset"])
                plan = plan_batch(left, await self._stored(connection, left))
                await imports.write(connection, self.one, 0, plan, f"run {self.ctx.run}")
            self.ctx.progress(plan.last_row, total, f"{plan.last_row:,} of {total:,} rows")
            # A process of its own, yet its loop must answer the database's keep-alive.
            await asyncio.sleep(0)
        return await finish(self.here, self.one["id"])

    async def _stored(self, connection: Any, rows: list[Row]) -> dict[str, Any]:
        keys = [row.key for row in rows if not row.problems]
        return await imports.stored(connection, self.one["team_id"], self.one["dataset"], keys)

    async def _begin(self, total: int) -> int:
        """Note the start, and where a former attempt came to."""
        async with self.here.database.transaction() as connection:
            done = await imports.written_up_to(connection, self.one["id"], 0)
            note = (
                [f"the worker was replaced after row {done:,}; it went on at row {done + 1:,}"]
                if done
                else []
            )
            await connection.execute(
                "UPDATE aeon.imports SET status = 'running', total_rows = $2, notes = notes || $3::jsonb,"
                " started_at = coalesce(started_at, clock_timestamp()) WHERE id = $1",
                self.one["id"],
                total,
                note,
            )
        return done


class Resubmission:
    """Refused rows that come back corrected, into the same import."""

    def __init__(self, ctx: Context, here: Services, one: dict[str, Any], part: int) -> None:
        self.ctx, self.here, self.one, self.part = ctx, here, one, part

    async def run(self, path: Path) -> dict[str, Any]:
        """Check the rows anew and write those that are good now."""
        form = sniff(path)
        if not is_reject_file(form.headers):
            raise ValidationError("this is not the workbook of refused rows: the column _row is missing")
        async with self.here.database.transaction() as connection:
            await imports.lock_dataset(connection, self.one["team_id"], self.one["dataset"])
            if await imports.written_up_to(connection, self.one["id"], self.part):
                return await finish(self.here, self.one["id"])
            rows = await self._checked(connection, path, form)
            if rows:
                keys = [row.key for row in rows if not row.problems]
                found = await imports.stored(connection, self.one["team_id"], self.one["dataset"], keys)
                plan = plan_batch(rows, found)
                await imports.write(connection, self.one, self.part, plan, f"run {self.ctx.run}")
                good = [row.number for row in rows if not row.problems]
                await imports.close_rejects(connection, self.one["id"], self.part, good)
            await connection.execute(
                "UPDATE aeon.import_parts SET finished_at = clock_timestamp() WHERE import_id = $1 AND part = $2",
                self.one["id"],
                self.part,
            )
        return await finish(self.here, self.one["id"])

    async def _checked(self, connection: Any, path: Path, form: Form) -> list[Row]:
        headers = Form.from_json(self.one["form"]).headers
        sent = tuple(header for header in form.headers if not is_ours(header))
        if sent != headers:
            raise ValidationError(
                "the columns of the workbook were changed; correct cells only, not the head"
            )
        dataset = await imports.dataset(connection, self.one["team_id"], self.one["dataset"])
        assert dataset is not None
        checker, seen = Checker(dataset, headers, self.one["mapping"]), Seen()
        refused = {row["row_number"] for row in await imports.open_rejects(connection, self.one["id"])}
        rows = [
            checker.ragged(number, cells, "some cells still say that they are missing")
            if is_incomplete(cells)
            else checker.check(number, cells)
            for number, cells in sorted(numbered(form.headers, read_rows(path, form)), key=lambda row: row[0])
            if number in refused
        ]
        keys = [row.key for row in rows if not row.problems]
        taken = await imports.stored(connection, self.one["team_id"], self.one["dataset"], keys)
        own = str(self.one["id"])
        return [
            checker.repeated(row)
            if not row.problems
            and (not seen.is_new(row.key) or (row.key in taken and taken[row.key].import_id == own))
            else row
            for row in rows
        ]


async def finish(here: Services, import_id: UUID) -> dict[str, Any]:
    """Note the end and return the figures."""
    async with here.database.transaction() as connection:
        await connection.execute(
            "UPDATE aeon.imports SET status = 'completed', finished_at = clock_timestamp() WHERE id = $1",
            import_id,
        )
        counts = await imports.counts(connection, import_id)
        reasons = await imports.reasons(connection, import_id)
    return {"import_id": str(import_id), **counts, "reasons": reasons}


async def _import_of(
    ctx: Context, here: Services, payload: dict[str, Any], envelope: Envelope
) -> dict[str, Any]:
    """The import that the job is about, with its file in the storage."""
    team_id = UUID(envelope.team_id)
    if "import_id" in payload:
        import_id = UUID(payload["import_id"])
    else:
        import_id = await _made_of(ctx, here, payload, envelope)
    one = await imports.of(here.database, import_id, team_id)
    if one["file_id"] is None:
        await ctx.step("fetch", fetching.fetch_for_import, str(import_id))
        one = await imports.of(here.database, import_id, team_id)
    return one


async def _made_of(ctx: Context, here: Services, payload: dict[str, Any], envelope: Envelope) -> UUID:
    """An import for a job that came without one: it has the job's own id, so that a repetition finds it."""
    import_id = UUID(str(ctx.job_id))
    await imports.add(
        here.database,
        {
            "id": import_id,
            "team_id": UUID(envelope.team_id),
            "created_by": envelope.created_by,
            "dataset": payload["dataset"],
            "form": {"format": payload["format"]} if payload.get("format") else {},
            "mapping": payload.get("mapping") or {},
            "on_error": payload.get("on_error", "skip"),
            "batch_size": payload.get("batch_size", 1000),
            "status": "waiting",
            "source_url": payload["source"],
            "job_id": import_id,
        },
    )
    return import_id


def _example(row: Row) -> dict[str, Any]:
    first = row.problems[0]
    return {"row": row.number, "column": first.column, "reason": first.message}


def _uuid(value: Any, field: str) -> None:
    try:
        UUID(str(value))
    except ValueError:
        raise BadRequest(f"{field} is not an id", field=field) from None


add(DataImport())
