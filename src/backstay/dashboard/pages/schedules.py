"""Schedules: when each fires, what came of it, run now, pause, and back-fill after a look at the count."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.client.acting.acting import Acting
from backstay.client.schedules import BackFill
from backstay.dashboard.forms import reason_of, text_of
from backstay.dashboard.frame import Frame, sentence
from backstay.dashboard.views.job_query import moment_of
from backstay.dashboard.views.schedules import history_strip, schedule_rows
from backstay.errors import BackstayError
from backstay.kit import Crumb, path_of
from backstay.kit.environment import utc_now
from backstay.kit.hrefs import with_query
from backstay.kit.words import count_of

NEXT_FIRES = 5
HISTORY = 50
MOST_BACK_FILLED = 1000


class SchedulePages:
    """The schedules, one schedule, and its actions."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/schedules", self.show_all, methods=["GET"])
        router.add_api_route("/schedules/{name}", self.show, methods=["GET"])
        for verb, action in {
            "run": self.run_now,
            "pause": self.pause,
            "resume": self.resume,
            "back-fill": self.back_fill,
        }.items():
            router.add_api_route(f"/schedules/{{name}}/{verb}", action, methods=["POST"])
        return router

    async def show_all(self, request: Request) -> Response:
        """Show every schedule in words, with its next fire."""
        schedules = await self._frame.visitor(request).client.schedules.all()
        return self._frame.show(request, "schedules", "Schedules", rows=schedule_rows(schedules, utc_now()))

    async def show(self, request: Request, name: str) -> Response:
        """Show one schedule: its rule in words, its next fires and its history."""
        client = self._client(request)
        schedule = await client.schedules.get(name)
        history = await client.schedules.history(name, limit=HISTORY)
        preview, problem = await _preview(request, client, name)
        return self._frame.show(
            request,
            "schedule",
            name,
            crumbs=[Crumb("Schedules", "/schedules"), Crumb(name)],
            row=schedule_rows([schedule], utc_now())[0],
            schedule=schedule,
            next_fires=[] if schedule.is_paused else await client.schedules.next_fires(name, NEXT_FIRES),
            history=history,
            strip=history_strip(history),
            preview=preview,
            problem=problem,
            asked={key: request.query_params.get(key, "") for key in ("first", "last")},
            most=MOST_BACK_FILLED,
        )

    async def run_now(self, request: Request, name: str) -> Response:
        """Make the job of a schedule now, apart from its own times."""
        client, made = self._client(request), list[str]()

        async def do() -> str:
            handle = await client.schedules.run_now(name)
            if handle is None:
                return (
                    "It was not run: the run before is not finished, and its schedule forbids two at a time."
                )
            made.append(path_of("jobs", handle.id))
            return "This is the job that was made."

        home = _home(request, name)
        return await self._frame.act(request, home, do, after=lambda: made[0] if made else home)

    async def pause(self, request: Request, name: str) -> Response:
        """Let a schedule fire no more until it is resumed."""

        async def do() -> str:
            await self._client(request).schedules.pause(name, reason=await reason_of(request))
            return "Paused: it does not fire until somebody resumes it."

        return await self._frame.act(request, _home(request, name), do)

    async def resume(self, request: Request, name: str) -> Response:
        """Let a paused schedule fire again."""

        async def do() -> str:
            await self._client(request).schedules.resume(name)
            return "It fires again."

        return await self._frame.act(request, _home(request, name), do)

    async def back_fill(self, request: Request, name: str) -> Response:
        """Make the jobs of all fires in a range that have not fired."""

        async def do() -> str:
            first = moment_of("the first moment", await text_of(request, "first"))
            last = moment_of("the last moment", await text_of(request, "last"))
            filled = await self._client(request).schedules.back_fill(name, first, last, most=MOST_BACK_FILLED)
            return f"{count_of(len(filled.jobs), 'job')} made; {filled.already_fired} had fired before."

        return await self._frame.act(request, _home(request, name), do)

    def _client(self, request: Request) -> Acting:
        """The client within the tenant of the schedule, which only who acts for all tenants may choose."""
        return self._frame.visitor(request).within(request.query_params.get("tenant", ""))


def _home(request: Request, name: str) -> str:
    return with_query(path_of("schedules", name), [], tenant=request.query_params.get("tenant") or None)


async def _preview(request: Request, client: Acting, name: str) -> tuple[BackFill | None, str]:
    """What the back-fill asked for in the address would do, or why it cannot be."""
    first, last = request.query_params.get("first"), request.query_params.get("last")
    if not first or not last:
        return None, ""
    try:
        found = await client.schedules.preview_back_fill(
            name,
            moment_of("the first moment", first),
            moment_of("the last moment", last),
            most=MOST_BACK_FILLED,
        )
    except BackstayError as error:
        return None, sentence(error)
    return found, ""
