"""Pages of one task and of one run: what ran, run now, dry run, back-fill, pause, and the brake."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from backstay.errors import BackstayError, ScheduleNotFound
from backstay.kit import Crumb, Pages, not_found, path_of
from backstay.records import Schedule
from backstay_watchpoint.backfill import TooManyFires, back_fill, missing_fires
from backstay_watchpoint.domain.brake import RELEASE_SIGNAL
from backstay_watchpoint.domain.catalogue import (
    POLL_DATA,
    BadReferenceTime,
    TaskSpec,
    UnknownTask,
    reference_time,
)
from backstay_watchpoint.domain.fires import fires
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.store import runs
from backstay_watchpoint.store.runs import RunState, Trigger
from backstay_watchpoint.tasks import SERVICES

RunId = Annotated[int, Path(ge=1, lt=2**63)]
"""What the database can hold."""


class BadForm(ValueError):
    """What was filled in cannot be used; the message says why."""


def add_task_pages(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    """Add the pages and what their buttons do."""
    _task_page(web, pages, jobs, operator)
    _run_actions(web, pages, jobs, operator)
    _schedule_actions(web, pages, jobs, operator)
    _run_pages(web, pages, jobs, operator)


def written(moment: datetime | None) -> str:
    """Write a moment for operators, who think in UTC."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def _task_page(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    platform = jobs.platform

    @web.get("/ops/tasks/{name}")
    async def task(request: Request, actor: operator, name: str, start: str = "", end: str = "") -> Response:
        spec = _known(jobs, name)
        now = platform.clock()
        async with platform.database.reading() as transaction:
            found = await runs.history(transaction, task=name, limit=60)
        for row in found:
            row["href"] = path_of("ops", "runs", str(row["id"]))
            row["as_of"] = written(row["reference_time"]).removesuffix(" UTC")
            row["asked_by"] = row["trigger"].replace("_", "-") + (", forced" if row["is_forced"] else "")
            row["note"] = row["error"] or row["reason"]
        return pages.render(
            request,
            "task.html",
            title=spec.name,
            crumbs=[Crumb("Day", "/ops"), Crumb(spec.name)],
            task=spec,
            runs=found,
            upcoming=[written(fire) for fire in fires(spec, now, now + timedelta(days=35))[:5]],
            can_try=_can_try(name),
            schedule=await _schedule(jobs, name),
            missing=await _preview(jobs, spec, start, end),
            start=start or f"{now - timedelta(days=1):%Y-%m-%dT00:00}",
            end=end or f"{now:%Y-%m-%dT00:00}",
        )


def _run_actions(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    @web.post("/ops/tasks/{name}/run")
    async def run(request: Request, actor: operator, name: str) -> Response:
        return await _ask(request, pages, jobs, _known(jobs, name), dry_run=False)

    @web.post("/ops/tasks/{name}/try")
    async def try_task(request: Request, actor: operator, name: str) -> Response:
        spec = _known(jobs, name)
        if not _can_try(name):
            raise not_found()
        return await _ask(request, pages, jobs, spec, dry_run=True)

    @web.post("/ops/tasks/{name}/backfill")
    async def fill(request: Request, actor: operator, name: str) -> Response:
        spec, form = _known(jobs, name), await request.form()
        try:
            first, last = _stretch(str(form.get("start", "")), str(form.get("end", "")))
            asked = await back_fill(jobs, spec, first, last)
        except (BadForm, BadReferenceTime, TooManyFires) as error:
            return pages.redirect(request, path_of("ops", "tasks", name), flash=str(error), tone="bad")
        return pages.redirect(
            request, path_of("ops", "tasks", name), flash=f"Asked for {len(asked)} runs.", tone="good"
        )


async def _ask(request: Request, pages: Pages, jobs: Jobs, spec: TaskSpec, *, dry_run: bool) -> Response:
    form, back = await request.form(), path_of("ops", "tasks", spec.name)
    given: dict[str, Any] = {"dry_run": True} if dry_run else {"force": form.get("force") == "yes"}
    try:
        at = _moment(str(form["at"])) if form.get("at") else None
        reference_time(spec, at, jobs.platform.clock(), force=bool(given.get("force")))
    except (BadForm, BadReferenceTime) as error:
        return pages.redirect(request, back, flash=str(error), tone="bad")
    job = await jobs.enqueue(spec, trigger=Trigger.MANUAL, reference_time=at, **given)
    what = "a dry run" if dry_run else "a run"
    return pages.redirect(request, back, flash=f"Asked for {what}: job {job.id}.")


def _schedule_actions(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    app = jobs.platform.app

    @web.post("/ops/tasks/{name}/pause")
    async def pause(request: Request, actor: operator, name: str) -> Response:
        spec, form = _known(jobs, name), await request.form()
        back = path_of("ops", "tasks", spec.name)
        try:
            await app.schedules.pause(name, reason=str(form.get("reason", "")), by=actor.name)
        except BackstayError as error:
            return pages.redirect(request, back, flash=str(error), tone="bad")
        return pages.redirect(request, back, flash="Paused: it fires no more until it is resumed.")

    @web.post("/ops/tasks/{name}/resume")
    async def resume(request: Request, actor: operator, name: str) -> Response:
        spec = _known(jobs, name)
        try:
            await app.schedules.resume(name, by=actor.name)
        except ScheduleNotFound:
            raise not_found() from None
        return pages.redirect(request, path_of("ops", "tasks", spec.name), flash="Resumed.", tone="good")


def _run_pages(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    platform = jobs.platform

    @web.get("/ops/runs/{run_id}")
    async def one_run(request: Request, actor: operator, run_id: RunId) -> Response:
        async with platform.database.reading() as transaction:
            found = await runs.one_run(transaction, run_id)
            changes = await runs.changes_of(transaction, run_id)
        if found is None:
            raise not_found()
        found["as_of"] = written(found["reference_time"])
        found["sample"] = [{"text": text} for text in found["report"].get("sample", ())]
        task = path_of("ops", "tasks", found["task"])
        crumbs = [Crumb("Day", "/ops"), Crumb(found["task"], task), Crumb("Run")]
        title = f"Run {run_id} of {found['task']}"
        return pages.render(request, "run.html", title=title, crumbs=crumbs, run=found, changes=changes)

    @web.post("/ops/runs/{run_id}/release")
    async def release(request: Request, actor: operator, run_id: RunId) -> Response:
        found = await _braked(jobs, run_id)
        await platform.app.signals.send(found["job_id"], RELEASE_SIGNAL, {"run": run_id}, by=actor.name)
        return pages.redirect(request, path_of("ops", "runs", str(run_id)), flash="Released.", tone="good")

    @web.post("/ops/runs/{run_id}/refuse")
    async def refuse(request: Request, actor: operator, run_id: RunId) -> Response:
        found = await _braked(jobs, run_id)
        await platform.app.jobs.cancel(found["job_id"], by=actor.name, reason="the brake was not released")
        error = f"{actor.name} did not release the brake"
        async with platform.database.transaction() as transaction:
            await runs.give_up(transaction, run_id, platform.clock(), error=error)
        return pages.redirect(request, path_of("ops", "runs", str(run_id)), flash="Nothing was deleted.")


async def _braked(jobs: Jobs, run_id: int) -> dict[str, Any]:
    async with jobs.platform.database.reading() as transaction:
        found = await runs.one_run(transaction, run_id)
    if found is None or found["status"] != RunState.BRAKED:
        raise not_found()
    return found


async def _schedule(jobs: Jobs, name: str) -> Schedule | None:
    try:
        return await jobs.platform.app.schedules.get(name)
    except ScheduleNotFound:  # no worker has started yet
        return None


async def _preview(jobs: Jobs, spec: TaskSpec, start: str, end: str) -> dict[str, Any] | None:
    if not start and not end:
        return None
    try:
        first, last = _stretch(start, end)
        found = await missing_fires(jobs, spec, first, last)
    except (BadForm, BadReferenceTime, TooManyFires) as error:
        return {"problem": str(error), "count": 0, "fires": []}
    return {"problem": None, "count": len(found), "fires": [written(fire) for fire in found[:12]]}


def _stretch(start: str, end: str) -> tuple[datetime, datetime]:
    first, last = _moment(start), _moment(end)
    if last <= first:
        raise BadForm("The end must lie after the start.")
    return first, last


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadForm(f"{text!r} is no time: write 2026-03-18T02:00, in UTC.") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _can_try(name: str) -> bool:
    return name != POLL_DATA and not SERVICES[name].acts_on_others


def _known(jobs: Jobs, name: str) -> TaskSpec:
    try:
        return jobs.platform.task_named(name)
    except UnknownTask:
        raise not_found() from None
