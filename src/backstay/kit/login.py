"""Logging in and out: the two routes that every application with people needs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from backstay.kit.actor import Actor
from backstay.kit.authentication import client_address
from backstay.kit.form_reading import read_form
from backstay.kit.hrefs import local_path
from backstay.kit.passwords import hash_password, password_matches
from backstay.kit.problems import Problem
from backstay.kit.throttle import Throttle

if TYPE_CHECKING:
    from backstay.kit.pages import Pages

Authenticate = Callable[[str, str], Awaitable[Actor | None]]
"""Asks an application who has this name and password; None if nobody."""

REFUSED = "Name or password is wrong."
LONGEST_NAME = 200


class Login:
    """The login page of an application.

    ```python
    app.include_router(Login(pages, authenticate).router())
    ```

    Wrong names and wrong passwords get the same answer; guessing is slowed down, by account and by address.
    """

    def __init__(
        self,
        pages: Pages,
        authenticate: Authenticate,
        *,
        throttle: Throttle | None = None,
        wide_throttle: Throttle | None = None,
    ) -> None:
        if pages.sessions is None:
            raise ValueError("a login needs Pages(sessions=…)")
        self._pages = pages
        self._sessions = pages.sessions
        self._authenticate = authenticate
        # Counted by account at one address, so that nobody locks out somebody elsewhere with a few failures.
        self._throttle = throttle or Throttle()
        # And by account and by address alone, against guessing from many places or at many accounts.
        self._wide_throttle = wide_throttle or Throttle(free=50)

    def router(self) -> APIRouter:
        """Return the routes: GET and POST of the login page, POST /logout."""
        router = self._pages.router()
        router.add_api_route(self._pages.login_path, self.show, methods=["GET"])
        router.add_api_route(self._pages.login_path, self.enter, methods=["POST"])
        router.add_api_route("/logout", self.leave, methods=["POST"])
        return router

    async def show(self, request: Request) -> Response:
        """Show the form."""
        return self._form(request, request.query_params.get("next", ""))

    async def enter(self, request: Request) -> Response:
        """Check name and password and start a session."""
        form = await read_form(request)
        username, password = str(form.get("username", "")).strip(), str(form.get("password", ""))
        after = local_path(str(form.get("next", "")), self._pages.home)
        address = client_address(request)
        account = username.lower()[:LONGEST_NAME]
        both, alone = f"{account} at {address}", (f"account {account}", f"address {address}")
        try:
            self._throttle.check(both)
            self._wide_throttle.check(*alone)
        except Problem as problem:
            return self._form(request, after, username, error=problem.detail, problem=problem)
        actor = await self._authenticate(username, password) if username and password else None
        if actor is None:
            self._throttle.failed(both)
            self._wide_throttle.failed(*alone)
            return self._form(request, after, username, error=REFUSED, problem=Problem(401))
        self._throttle.succeeded(both)
        response = self._pages.redirect(request, after)
        self._sessions.start(request, response, actor)
        return response

    async def leave(self, request: Request) -> Response:
        """End the session."""
        response = self._pages.redirect(
            request, self._pages.login_path, flash="You are logged out.", tone="info"
        )
        self._sessions.end(request, response)
        return response

    def _form(
        self,
        request: Request,
        after: str,
        username: str = "",
        *,
        error: str = "",
        problem: Problem | None = None,
    ) -> Response:
        response = self._pages.render(
            request,
            "kit/login.html",
            title="Log in",
            status=problem.status if problem else 200,
            next=local_path(after, self._pages.home),
            username=username[:LONGEST_NAME],
            error=error,
            nav_groups=[],
        )
        response.headers.update((problem.headers if problem else None) or {})
        return response


class Passwords:
    """Checks passwords in a thread, and takes as long for a name that nobody has."""

    def __init__(self) -> None:
        self._decoy = hash_password("nobody has this password")

    async def match(self, password: str, stored: str | None) -> bool:
        """Return True if the password fits the stored hash; None stands for an unknown name."""
        matches = await asyncio.to_thread(password_matches, password, stored or self._decoy)
        return matches and stored is not None
