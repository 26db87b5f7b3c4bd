"""DataPoller: finds new runs in the buckets of NOAA and starts their inference."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.forecasts import Model, RunStatus, output_prefix
from backstay_watchpoint.domain.layouts import SourceId, gfs_keys
from backstay_watchpoint.domain.nowcast import TOLERANCE, pair, unused
from backstay_watchpoint.domain.polling import Available, KnownRun, PollInput, Start, choose, look_since
from backstay_watchpoint.services.forecasts import StoredRun, build_payload, submit
from backstay_watchpoint.services.outside import AllMirrorsFailed, MirrorAnswer, Provider, Upstream
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import forecast_runs, mirror_checks


class PollFailed(Exception):
    """No model could be looked for."""


async def poll(work: Work, upstream: Upstream, provider: Provider, bucket: str, asked: PollInput) -> int:
    """Start every new run, oldest first; a model whose mirrors all fail does not stop the others.

    Raises PollFailed, naming each mirror, if a model could not be looked for; what was found is started before.
    """
    available: list[Available] = []
    errors: list[AllMirrorsFailed] = []
    known: list[KnownRun] = []
    for model in Model:
        since, rows = await _known(work, model, asked)
        known += rows
        try:
            available += await _available(work, upstream, model, since)
        except AllMirrorsFailed as error:
            errors.append(error)
    for start in choose(asked, available, known):
        await _start(work, start, provider, bucket)
    if errors:
        raise PollFailed("; ".join(str(error) for error in errors))
    return work.items


async def _available(work: Work, upstream: Upstream, model: Model, since: datetime) -> list[Available]:
    if model is Model.MEDIUM_RANGE:
        answer = await _look(work, upstream, SourceId.GFS, since)
        return [
            Available(model, found.timestamp, _references(answer, gfs_keys(found.timestamp)))
            for found in answer.found
        ]
    goes = await _look(work, upstream, SourceId.GOES, since)
    mrms = await _look(work, upstream, SourceId.MRMS, since - TOLERANCE)
    used = await _used_sources(work, since)
    images, radar = unused(goes.found, used), unused(mrms.found, used)
    return [
        Available(model, at, _references(goes, [images[at]]) + _references(mrms, [radar[composite]]))
        for at, composite in pair(images, radar)
    ]


async def _used_sources(work: Work, since: datetime) -> list[str]:
    """Return what the nowcasts of the time around are made of: a composite may lie on both sides of `since`."""
    async with work.reading() as transaction:
        rows = await transaction.scalars(
            select(forecast_runs.c.source_paths)
            .where(forecast_runs.c.model == Model.NOWCAST)
            .where(forecast_runs.c.run_timestamp >= since - 2 * TOLERANCE)
        )
        return [path for paths in rows for path in paths]


def _references(answer: MirrorAnswer, keys: Sequence[str]) -> tuple[str, ...]:
    """Say where the provider finds the data; nothing is downloaded here."""
    return tuple(f"s3://{answer.bucket}/{key}" for key in keys)


async def _look(work: Work, upstream: Upstream, source: SourceId, since: datetime) -> MirrorAnswer:
    try:
        answer = await upstream.check_availability(source, since, work.now)
    except AllMirrorsFailed as error:
        await _note_mirrors(work, source, [(failure.mirror, failure.error) for failure in error.failures])
        raise
    for failure in answer.failures:
        work.warn(f"mirror {failure.mirror} failed: {failure.error}", source=source)
    checks: list[tuple[str, str | None]] = [(failure.mirror, failure.error) for failure in answer.failures]
    await _note_mirrors(work, source, [*checks, (answer.mirror, None)])
    return answer


async def _note_mirrors(work: Work, source: SourceId, checks: Sequence[tuple[str, str | None]]) -> None:
    async with work.transaction() as transaction:
        for mirror, error in checks:
            values = {
                "mirror": mirror,
                "source": source,
                "checked_at": work.now,
                "error": error,
                "failures_in_a_row": 0 if error is None else 1,
            }
            in_a_row = 0 if error is None else mirror_checks.c.failures_in_a_row + 1
            await transaction.execute(
                insert_into(transaction, mirror_checks)
                .values(values)
                .on_conflict_do_update(
                    index_elements=["mirror", "source"],
                    set_={"checked_at": work.now, "error": error, "failures_in_a_row": in_a_row},
                )
            )


async def _known(work: Work, model: Model, asked: PollInput) -> tuple[datetime, list[KnownRun]]:
    """Return since when runs count as new, and the rows that matter: those since then, and failed ones to retry."""
    async with work.reading() as transaction:
        latest = await transaction.scalar(
            select(func.max(forecast_runs.c.run_timestamp, type_=forecast_runs.c.run_timestamp.type)).where(
                forecast_runs.c.model == model
            )
        )
        since = look_since(asked, latest, work.now)
        matters = forecast_runs.c.run_timestamp > since
        if asked.force_retry:
            matters |= forecast_runs.c.status == RunStatus.FAILED
        rows = await transaction.execute(
            select(forecast_runs.c.run_timestamp, forecast_runs.c.status, forecast_runs.c.source_paths)
            .where(forecast_runs.c.model == model)
            .where(matters)
        )
        known = [
            KnownRun(model, row.run_timestamp, RunStatus(row.status), tuple(row.source_paths)) for row in rows
        ]
    return since, known


async def _start(work: Work, start: Start, provider: Provider, bucket: str) -> None:
    run = StoredRun(
        id=str(uuid4()),
        model=start.model,
        run_timestamp=start.run_timestamp,
        external_id=None,
        retry_count=0,
        submitted_at=work.now,
        storage_path=output_prefix(start.model, start.run_timestamp),
        source_paths=start.source_paths,
    )
    async with work.transaction() as transaction:
        run_id = await (_reopen(transaction, run) if start.is_retry else _insert(transaction, run))
        if run_id is None:  # another poller was quicker
            return
        payload = await build_payload(transaction, run, bucket)
        change = "started again" if start.is_retry else "started"
        work.changed("forecast run", run_id, change, model=run.model, at=run.run_timestamp.isoformat())
    await submit(work, run_id, payload, provider)


async def _insert(transaction: AsyncConnection, run: StoredRun) -> str | None:
    values = {
        "id": run.id,
        "model": run.model,
        "run_timestamp": run.run_timestamp,
        "status": RunStatus.RUNNING,
        "retry_count": 0,
        "submitted_at": run.submitted_at,
        "storage_path": run.storage_path,
        "source_paths": list(run.source_paths),
        "created_at": run.submitted_at,
    }
    inserted: str | None = await transaction.scalar(
        insert_into(transaction, forecast_runs)
        .values(values)
        .on_conflict_do_nothing(index_elements=["model", "run_timestamp"])
        .returning(forecast_runs.c.id)
    )
    return inserted


async def _reopen(transaction: AsyncConnection, run: StoredRun) -> str | None:
    reopened: str | None = await transaction.scalar(
        update(forecast_runs)
        .where(forecast_runs.c.model == run.model)
        .where(forecast_runs.c.run_timestamp == run.run_timestamp)
        .where(forecast_runs.c.status == RunStatus.FAILED)
        .values(
            status=RunStatus.RUNNING,
            retry_count=0,
            failure_reason=None,
            external_id=None,
            submitted_at=run.submitted_at,
            finished_at=None,
        )
        .returning(forecast_runs.c.id)
    )
    return reopened
