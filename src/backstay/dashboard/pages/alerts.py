"""Alerts: which rules hold, which are muted, and what has fired."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.client.acting.acting import Acting
from backstay.dashboard.forms import reason_of, text_of
from backstay.dashboard.frame import Frame
from backstay.model.alerts import RULES

MOST_SHOWN = 100
LENGTHS = ("1h", "4h", "1d", "7d")


class AlertPages:
    """The rules, the alerts that hold, and those that held."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/alerts", self.show, methods=["GET"])
        router.add_api_route("/alerts/mute", self.mute, methods=["POST"])
        router.add_api_route("/alerts/unmute", self.unmute, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show every rule with how it stands, and what has fired lately."""
        client = self._client(request)
        mutes = {one.rule: one for one in await client.alerts.mutes()}
        active = {one.rule: one for one in await client.alerts.active()}
        return self._frame.show(
            request,
            "alerts",
            "Alerts",
            rules=sorted(RULES, key=lambda rule: rule.name not in active),
            active=active,
            mutes=mutes,
            fired=await client.alerts.newest(limit=MOST_SHOWN),
            lengths=LENGTHS,
            amount_of=amount_of,
        )

    async def mute(self, request: Request) -> Response:
        """Mute a rule: until then it notifies nobody."""

        async def do() -> str:
            rule, length = await text_of(request, "rule"), await text_of(request, "length")
            await self._client(request).alerts.mute(rule, length=length, reason=await reason_of(request))
            return f"{rule} is muted for {length}: it notifies nobody, and is still shown here."

        return await self._frame.act(request, "/alerts", do)

    async def unmute(self, request: Request) -> Response:
        """Let people be told again."""

        async def do() -> str:
            rule = await text_of(request, "rule")
            was_muted = await self._client(request).alerts.unmute(rule)
            return f"{rule} notifies people again." if was_muted else f"{rule} was not muted."

        return await self._frame.act(request, "/alerts", do)

    def _client(self, request: Request) -> Acting:
        return self._frame.visitor(request).client


def amount_of(rule: str, value: float) -> str:
    """A measure of a rule with its unit: a share, a length of time, or a number of things."""
    match rule:
        case "high_failure_rate":
            return f"{value:.0%}"
        case "slow_jobs":
            return f"{value / 1000:,.0f} s"
        case _:
            return f"{value:,.0f}"
