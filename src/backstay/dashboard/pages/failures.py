"""Failures grouped by their cause, and one decision for a whole group."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.dashboard.forms import reason_of, text_of
from backstay.dashboard.frame import Frame
from backstay.dashboard.views.failures import group_rows
from backstay.errors import InvalidSettings
from backstay.kit import path_of
from backstay.kit.environment import utc_now
from backstay.model.records import DeadLetterFilter

MOST_GROUPS = 100
DEFAULT_PACE = 50.0


class FailurePages:
    """The groups of open dead letters, and actions on a group."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/failures", self.show, methods=["GET"])
        router.add_api_route("/failures/{fingerprint}", self.decide, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show each cause with how often and when it struck, the most frequent first."""
        client = self._frame.visitor(request).client
        groups = await client.dead_letters.groups(limit=MOST_GROUPS)
        return self._frame.show(
            request,
            "failures",
            "Failures",
            groups=group_rows(groups, await client.dead_letters.by_hour(), utc_now()),
            has_more=len(groups) == MOST_GROUPS,
        )

    async def decide(self, request: Request, fingerprint: str) -> Response:
        """Retry or resolve every letter of one cause, as an operation that can be stopped."""
        visitor = self._frame.visitor(request)
        started: list[str] = []

        async def do() -> str:
            verb, why = await text_of(request, "action"), await reason_of(request)
            if verb not in ("retry", "resolve"):
                raise InvalidSettings("choose to retry or to resolve the group")
            pace = pace_of(await text_of(request, "pace"))
            filters = DeadLetterFilter(fingerprint=fingerprint)
            operation = await visitor.client.operations.start(
                f"dead_letters.{verb}", filters, reason=why, pace=pace
            )
            started.append(str(operation.id))
            return f"Operation started: {operation.name}."

        return await self._frame.act(
            request, "/failures", do, after=lambda: path_of("operations", started[0])
        )


def pace_of(text: str) -> float:
    """Read how many jobs a second an operation may decide about."""
    if not text:
        return DEFAULT_PACE
    try:
        pace = float(text)
    except ValueError:
        pace = 0
    if not 0 < pace <= 10_000:
        raise InvalidSettings(f"the pace is a number of jobs a second, not {text[:20]!r}")
    return pace
