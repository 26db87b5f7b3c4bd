"""API keys, on the page of the system: made, rotated and revoked, each text shown once."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from backstay.client.acting.acting import Acting
from backstay.dashboard.forms import reason_of, text_of
from backstay.dashboard.frame import Frame, sentence
from backstay.errors import BackstayError, InvalidSettings
from backstay.kit import Crumb
from backstay.model.api_keys import ApiKey

BACK = "/system#keys"


class KeyPages:
    """What is done with keys; the page of the system lists them."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def router(self) -> APIRouter:
        router = self._frame.router()
        router.add_api_route("/keys", self.create, methods=["POST"])
        router.add_api_route("/keys/{prefix}", self.show, methods=["GET"])
        router.add_api_route("/keys/rotate", self.rotate, methods=["POST"])
        router.add_api_route("/keys/revoke", self.revoke, methods=["POST"])
        return router

    async def show(self, request: Request, prefix: str) -> Response:
        """Show what is kept of a key."""
        return self._page(request, await self._client(request).api_keys.get(prefix))

    async def create(self, request: Request) -> Response:
        """Make a key, and show its text this once."""
        try:
            name = await text_of(request, "name")
            if not name:
                raise InvalidSettings("give the key a name: who or what will use it")
            made = await self._client(request).api_keys.create(
                name,
                role=await text_of(request, "role") or "viewer",
                tenant=await text_of(request, "tenant") or None,
                sees_payloads=bool(await text_of(request, "sees_payloads")),
                expires=await text_of(request, "expires") or None,
            )
        except BackstayError as error:
            return self._refused(request, error)
        return self._page(request, made.key, text=made.text)

    async def rotate(self, request: Request) -> Response:
        """Make a key that takes over from another, and show its text this once."""
        try:
            made = await self._client(request).api_keys.rotate(
                await text_of(request, "prefix"), overlap=await text_of(request, "overlap") or 0
            )
        except BackstayError as error:
            return self._refused(request, error)
        return self._page(request, made.key, text=made.text)

    async def revoke(self, request: Request) -> Response:
        """Let a key open nothing any more."""

        async def do() -> str:
            prefix = await text_of(request, "prefix")
            done = await self._client(request).api_keys.revoke(prefix, reason=await reason_of(request))
            return (
                f"The key {prefix} opens nothing any more." if done else f"The key {prefix} was dead already."
            )

        return await self._frame.act(request, BACK, do)

    def _page(self, request: Request, key: ApiKey, *, text: str = "") -> Response:
        """A key; with its text it is an answer of its own and no redirect, so that it is written down nowhere."""
        crumbs = [Crumb("System", "/system"), Crumb(key.name)]
        status = 201 if text else 200
        return self._frame.show(
            request, "key", f"Key {key.name}", crumbs=crumbs, key=key, text=text, status=status
        )

    def _refused(self, request: Request, error: BackstayError) -> Response:
        return self._frame.pages.redirect(request, BACK, flash=sentence(error), tone="bad")

    def _client(self, request: Request) -> Acting:
        return self._frame.visitor(request).client
