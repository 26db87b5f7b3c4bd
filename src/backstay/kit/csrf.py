"""Protection of forms: a token bound to the session, and the origin of the request."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from fastapi import Request, Response

from backstay.kit.environment import random_text
from backstay.kit.form_reading import read_form
from backstay.kit.problems import Problem
from backstay.kit.sessions import Sessions, cookie_rules
from backstay.kit.signing import SigningKeys

FIELD = "csrf_token"
HEADER = "x-csrf-token"
VISITOR_COOKIE = "backstay_visitor"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
PURPOSE = "csrf"
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


class Csrf:
    """Makes the hidden field of forms and refuses unsafe requests that lack it or come from another site.

    The token is a signature over the session's id; before login over the id in a cookie of its own.
    """

    def __init__(self, keys: SigningKeys, sessions: Sessions | None = None) -> None:
        self._keys = keys
        self._sessions = sessions

    def token(self, request: Request) -> str:
        """Return the token for forms of this page."""
        return self._keys.signature(PURPOSE, self._bound_to(request).encode())

    def remember_visitor(self, request: Request, response: Response) -> None:
        """Set the cookie that tokens before login are bound to, if this request made a new one."""
        visitor = getattr(request.state, "kit_new_visitor", "")
        if visitor:
            response.set_cookie(VISITOR_COOKIE, visitor, **cookie_rules(request))

    async def protect(self, request: Request) -> None:
        """Refuse an unsafe request that is not from our own form; a FastAPI dependency."""
        if request.method in SAFE_METHODS:
            return
        self.check_origin(request)
        given = request.headers.get(HEADER) or await _field(request)
        if not given or not self._known_binding(request):
            raise refused("the form carries no token")
        if not self._keys.matches(PURPOSE, self._bound_to(request).encode(), given):
            raise refused("the form's token is not of this session")

    def check_origin(self, request: Request) -> None:
        """Refuse a request that a browser says was made by another site."""
        if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            raise refused("the request comes from another site")
        origin = request.headers.get("origin") or request.headers.get("referer")
        if origin and not hmac.compare_digest(
            urlsplit(origin).netloc.lower().encode(), request.headers.get("host", "").lower().encode()
        ):
            raise refused("the request comes from another site")

    def _bound_to(self, request: Request) -> str:
        session = self._sessions.read(request) if self._sessions else None
        if session is not None:
            return f"session {session.id}"
        visitor = request.cookies.get(VISITOR_COOKIE) or getattr(request.state, "kit_new_visitor", "")
        if not visitor:
            visitor = random_text()
            request.state.kit_new_visitor = visitor
        return f"visitor {visitor}"

    def _known_binding(self, request: Request) -> bool:
        session = self._sessions.read(request) if self._sessions else None
        return session is not None or VISITOR_COOKIE in request.cookies


def refused(why: str) -> Problem:
    """The answer to a form that is not ours."""
    return Problem(
        403, "csrf_refused", f"This was not sent, because {why}. Reload the page and send the form again."
    )


async def _field(request: Request) -> str:
    if not request.headers.get("content-type", "").startswith(_FORM_TYPES):
        return ""
    value = (await read_form(request)).get(FIELD)
    return value if isinstance(value, str) else ""
