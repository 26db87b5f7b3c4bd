"""A link that lets somebody in without a password: for a server on one's own machine, printed when it starts."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from backstay.kit.actor import Actor
from backstay.kit.authentication import client_address
from backstay.kit.environment import random_text
from backstay.kit.hrefs import local_path
from backstay.kit.problems import Problem
from backstay.kit.throttle import Throttle

if TYPE_CHECKING:
    from backstay.kit.pages import Pages


class AccessLink:
    """Gives a visitor who opens the link a session as `actor`, as Jupyter does.

    ```python
    link = AccessLink(pages, roles.actor(getpass.getuser(), ["admin"]))
    app.include_router(link.router())
    print(f"http://127.0.0.1:8000{link.path}")
    ```

    The token is made anew at each start and leaves the address at once. Use it on loopback only, and give
    `pages.install` the `hosts` it listens on.
    """

    def __init__(
        self, pages: Pages, actor: Actor, *, token: str = "", throttle: Throttle | None = None
    ) -> None:
        if pages.sessions is None:
            raise ValueError("an access link needs Pages(sessions=…)")
        self._pages = pages
        self._sessions = pages.sessions
        self._actor = actor
        self._token = token or random_text(32)
        self._throttle = throttle or Throttle()

    @property
    def path(self) -> str:
        """The path to print; it holds the token."""
        return f"/enter?token={self._token}"

    def router(self) -> APIRouter:
        """Return the route that the link leads to."""
        router = self._pages.router()
        router.add_api_route("/enter", self.enter, methods=["GET"])
        return router

    async def enter(self, request: Request) -> Response:
        """Exchange the token for a session and go on to the first page, without the token in its address."""
        caller = client_address(request)
        self._throttle.check(caller)
        given = request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            self._throttle.failed(caller)
            raise Problem(
                403, "link_refused", "This link is not of this start of the server; use the one it printed."
            )
        after = local_path(request.query_params.get("next"), self._pages.home)
        response = self._pages.redirect(request, after)
        self._sessions.start(request, response, self._actor)
        return response

    def __repr__(self) -> str:
        return f"<AccessLink for {self._actor.name}>"
