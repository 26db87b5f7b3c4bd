"""The system: what the doctor finds, what operators changed, where settings come from."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.client.effective_policy import OVERRIDABLE
from backstay.dashboard.forms import json_of, reason_of, text_of
from backstay.dashboard.frame import Frame
from backstay.dashboard.views.verdict import verdict_of
from backstay.errors import InvalidPayload, InvalidSettings
from backstay.kit.words import duration_text
from backstay.model.api_keys import ROLES
from backstay.model.policy.policy import resolve
from backstay.model.rights import RIGHTS
from backstay.settings.settings import hide_password
from backstay.settings.version import __version__

ROLE_WORDS = {
    "viewer": "look",
    "operator": "look, and act on jobs, dead letters, flows, schedules and queues",
    "admin": "everything, also limits, numbers, quotas and keys",
}


class SystemPages:
    """Findings, overrides and facts about the installation."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/system", self.show, methods=["GET"])
        router.add_api_route("/overrides", self.override, methods=["POST"])
        router.add_api_route("/overrides/unset", self.unset, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show findings, overrides, locks and facts."""
        visitor = self._frame.visitor(request)
        client, found = visitor.client, await visitor.client.doctor.check()
        return self._frame.show(
            request,
            "system",
            "System",
            verdict=verdict_of(found),
            drifted=any(finding.code == "schema_drift" for finding in found),
            kept=self._kept(),
            overrides=await client.overrides.all(),
            fields=sorted(OVERRIDABLE),
            kinds=await client.workers.kinds(),
            locks=await client.locks.all() if visitor.may("locks.read") else [],
            keys=await client.api_keys.all() if visitor.may("api_keys.read") else None,
            roles=ROLES,
            rights=[(role, ROLE_WORDS[role], sorted(RIGHTS[role])) for role in ROLES],
            database=hide_password(self._frame.app.url),
            version=__version__,
            profile=self._frame.app.profile.name,
        )

    def _kept(self) -> list[tuple[str, str]]:
        """How long jobs stay in the database after their end, by the settings of this process."""
        app = self._frame.app
        policy = resolve(app.settings.policy, *app.profile.layers(""))
        lengths = {
            "Completed jobs": policy.keep_completed,
            "Cancelled jobs": policy.keep_cancelled,
            "Resolved jobs": policy.keep_resolved,
        }
        told = [(name, duration_text(length) if length else "for good") for name, length in lengths.items()]
        return [*told, ("Dead jobs", "until somebody decides")]

    async def override(self, request: Request) -> Response:
        """Change a number of a queue or a kind for every worker."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            scope, name = await text_of(request, "scope"), await text_of(request, "name")
            if scope not in ("queue", "kind") or not name:
                raise InvalidSettings("name a queue or a kind")
            field = await text_of(request, "field")
            try:
                value = await json_of(request, "value")
            except InvalidPayload:
                # A length of time, such as 30s, is a text and no JSON.
                value = await text_of(request, "value")
            target = {scope: name}
            await client.overrides.set(
                field,
                value,
                kind=target.get("kind"),
                queue=target.get("queue"),
                reason=await reason_of(request),
            )
            return f"{field} of {scope} {name} is changed, for every worker."

        return await self._frame.act(request, "/system", do)

    async def unset(self, request: Request) -> Response:
        """Let the code's own number count again."""
        client = self._frame.visitor(request).client

        async def do() -> str:
            target = {await text_of(request, "scope"): await text_of(request, "name")}
            field = await text_of(request, "field")
            await client.overrides.unset(field, kind=target.get("kind"), queue=target.get("queue"))
            return f"{field} is as the code declares it again."

        return await self._frame.act(request, "/system", do)
