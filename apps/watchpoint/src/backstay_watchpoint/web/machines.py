"""What machines call: EventBridge's events, evaluations, the provider's callbacks, health and metrics."""

import contextlib
import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from sqlalchemy import func, select

from backstay.errors import SignalRefused
from backstay.kit import Problem, StrictRoute, problem_responses
from backstay.records import JobFilter
from backstay_watchpoint.domain.catalogue import POLL_DATA, BadReferenceTime, UnknownTask, reference_time
from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.domain.subscriptions import DRIFT_METRIC
from backstay_watchpoint.handlers.waiting import RESULTS_SIGNAL, WAITING_KINDS
from backstay_watchpoint.health_report import read_health
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.services.callbacks import NotKnownYet, job_ended
from backstay_watchpoint.services.security import SecurityEvent, note_attempt
from backstay_watchpoint.store.runs import Trigger
from backstay_watchpoint.store.tables import alerts, billing_drifts, task_runs
from backstay_watchpoint.web.access import check_token
from backstay_watchpoint.web.evaluations import add_evaluation_route
from backstay_watchpoint.web.events import EventPayload


def machine_router(jobs: Jobs) -> APIRouter:
    """Build the routes; events and evaluations need the token, callbacks the secret in their address."""
    router = APIRouter(route_class=StrictRoute, tags=["machines"])
    _event_route(router, jobs)
    _callback_route(router, jobs)
    add_evaluation_route(router, jobs)

    @router.get("/health")
    async def health() -> Response:
        """Say a line a task; 503 if one is late."""
        found = await read_health(jobs.platform)
        late = any(line.is_late for line in found)
        text = "\n".join(line.line for line in found) + "\n"
        return Response(text, status_code=503 if late else 200, media_type="text/plain; charset=utf-8")

    @router.get("/metrics")
    async def metrics() -> Response:
        """Show counters for Prometheus, read from the database."""
        return Response(await _metrics(jobs), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router


def _event_route(router: APIRouter, jobs: Jobs) -> None:
    @router.post("/events", status_code=202, responses=problem_responses(401, 422))
    async def events(
        body: EventPayload, authorization: Annotated[str | None, Header()] = None
    ) -> dict[str, str]:
        """Ask for a run as EventBridge would."""
        await check_token(jobs.platform, authorization)
        try:
            task = jobs.platform.task_named(body.task)
        except UnknownTask as error:
            raise Problem(422, "unknown_task", str(error), pointer="/task") from error
        try:
            reference_time(task, body.reference_time, jobs.platform.clock())
        except BadReferenceTime as error:
            raise Problem(422, "bad_reference_time", str(error), pointer="/reference_time") from error
        given = body.model_dump(include={"force_retry", "backfill_hours", "limit"})
        if task.name != POLL_DATA:
            if any(given.values()):
                raise Problem(422, "not_a_poll", f"{task.name} takes task and reference_time only.")
            given = {}
        job = await jobs.enqueue(task, trigger=Trigger.EVENT, reference_time=body.reference_time, **given)
        return {"job_id": str(job.id), "task": task.name}


def _callback_route(router: APIRouter, jobs: Jobs) -> None:
    platform = jobs.platform

    @router.post("/callbacks/runpod/{secret}", responses=problem_responses(404, 503))
    async def runpod(secret: str, body: dict[str, Any]) -> dict[str, str]:
        """Learn that a job has ended; the provider is asked itself, the body is only a hint."""
        expected = platform.settings.callback_secret
        if not expected or not secrets.compare_digest(secret.encode(), expected.encode()):
            await note_attempt(platform.database, SecurityEvent.WRONG_CALLBACK, platform.clock())
            raise Problem(404, "not_found", "There is nothing here.")
        external_id = str(body.get("id", ""))
        state = await platform.provider.status(external_id)
        if state is ProviderState.UNREACHABLE:
            raise Problem(503, "provider_unreachable", "The provider does not answer: send this again.")
        try:
            async with platform.database.transaction() as transaction:
                batch = await job_ended(transaction, external_id, state, platform.clock())
        except NotKnownYet:
            raise Problem(503, "not_known_yet", "The job's id is being stored: send this again.") from None
        if batch is not None:
            await _signal_results(jobs, batch)
        return {"state": str(state)}


async def _signal_results(jobs: Jobs, batch: str) -> None:
    app = jobs.platform.app
    page = await app.jobs.search(JobFilter(correlation_id=batch), limit=20)
    for job in page.jobs:
        if job.kind not in WAITING_KINDS:
            continue
        with contextlib.suppress(SignalRefused):  # it has ended without waiting
            await app.signals.send(
                job.id, RESULTS_SIGNAL, {"batch": batch}, key=batch, by="provider callback"
            )


async def _metrics(jobs: Jobs) -> str:
    async with jobs.platform.database.reading() as transaction:
        drifts = await transaction.scalar(select(func.count()).select_from(billing_drifts)) or 0
        by_task = (
            await transaction.execute(
                select(task_runs.c.task, task_runs.c.status, func.count(), func.sum(task_runs.c["items"]))
                .where(task_runs.c.is_dry_run.is_(False))
                .group_by(task_runs.c.task, task_runs.c.status)
                .order_by(task_runs.c.task, task_runs.c.status)
            )
        ).all()
        by_alert = (
            await transaction.execute(select(alerts.c.name, func.count()).group_by(alerts.c.name))
        ).all()
    lines = [
        f"# TYPE {DRIFT_METRIC} counter",
        f"{DRIFT_METRIC} {drifts}",
        "# TYPE watchpoint_task_runs counter",
    ]
    lines += [f'watchpoint_task_runs{{task="{row[0]}",status="{row[1]}"}} {row[2]}' for row in by_task]
    lines += ["# TYPE watchpoint_task_items counter"]
    lines += [f'watchpoint_task_items{{task="{row[0]}",status="{row[1]}"}} {row[3] or 0}' for row in by_task]
    lines += ["# TYPE watchpoint_alerts counter"]
    lines += [f'watchpoint_alerts{{name="{row[0]}"}} {row[1]}' for row in by_alert]
    return "\n".join(lines) + "\n"
