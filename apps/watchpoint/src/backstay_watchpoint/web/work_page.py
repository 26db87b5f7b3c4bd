"""The page of what goes on now: runs and their locks, lanes of jobs, queues between the platform's parts."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select

from backstay import State
from backstay.kit import Pages, path_of
from backstay.records import QueueCount
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.outside.queues import QueueError
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.store.runs import UNFINISHED
from backstay_watchpoint.store.tables import task_runs

WAITING = (State.AVAILABLE, State.SCHEDULED, State.HELD)


def add_work_page(web: APIRouter, pages: Pages, jobs: Jobs, operator: Any) -> None:
    """Add the page."""
    platform = jobs.platform

    @web.get("/ops/work")
    async def work(request: Request, actor: operator) -> Response:
        return pages.render(
            request,
            "work.html",
            title="Work",
            runs=await _unfinished_runs(platform),
            lanes=lanes(await platform.app.jobs.counts()),
            queues=await _queues(platform),
        )


def lanes(counts: Sequence[QueueCount]) -> list[dict[str, Any]]:
    """Add up how many jobs of each lane wait, run and are dead."""
    found: dict[str, dict[str, Any]] = {}
    for count in counts:
        lane = found.setdefault(count.queue, {"lane": count.queue, "waiting": 0, "running": 0, "dead": 0})
        if count.state in WAITING:
            lane["waiting"] += count.jobs
        elif count.state in (State.RUNNING, State.DEAD):
            lane[count.state.value] += count.jobs
    return [found[name] for name in sorted(found)]


async def _unfinished_runs(platform: Platform) -> list[dict[str, Any]]:
    query = select(task_runs).where(task_runs.c.status.in_(UNFINISHED)).order_by(task_runs.c.id)
    async with platform.database.reading() as transaction:
        rows = (await transaction.execute(query)).mappings().all()
    return [{**row, "href": path_of("ops", "runs", str(row["id"]))} for row in rows]


async def _queues(platform: Platform) -> list[dict[str, Any]]:
    """Count the messages of each queue; one that does not answer is a line of the page, not its end."""
    found: list[dict[str, Any]] = []
    for name in (platform.settings.notification_queue, platform.settings.eval_queue):
        try:
            found.append({"queue": name, "messages": await platform.queues.waiting(name), "problem": None})
        except QueueError as error:
            found.append({"queue": name, "messages": None, "problem": str(error)})
    return found
