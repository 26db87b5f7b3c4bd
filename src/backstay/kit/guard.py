"""What stands before every request: known host, bounded body; and behind every answer: security headers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backstay.kit.form_reading import FORMS, close_forms
from backstay.kit.problems import Problem
from backstay.kit.words import size_text

DEFAULT_MAX_BODY = 1024 * 1024

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
HTTPS_HEADERS: Mapping[str, str] = {"strict-transport-security": "max-age=31536000"}


class Guard:
    """ASGI middleware that checks host and size before, and sets the security headers after.

    It also closes the files of forms when a request ends.

    `max_body` bounds every request; `larger_bodies` allows more below a path (`{"/documents": 50_000_000}`).
    `hosts` are the accepted names of this server, without ports; empty accepts all. A header that the
    application set itself is kept.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_body: int = DEFAULT_MAX_BODY,
        larger_bodies: Mapping[str, int] | None = None,
        hosts: Sequence[str] = (),
    ) -> None:
        self._app = app
        self._max_body = max_body
        self._larger_bodies = dict(larger_bodies or {})
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket" and not self._is_known(Headers(scope=scope)):
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sealed = _with_headers(scope, send)
        headers = Headers(scope=scope)
        limit = self._limit_for(scope)
        problem = self._refusal(headers, limit)
        if problem is not None:
            await problem.response()(scope, receive, sealed)
            return
        scope[FORMS] = []
        try:
            await self._app(scope, _bounded(receive, limit), sealed)
        finally:
            await close_forms(scope)

    def _limit_for(self, scope: Scope) -> int:
        path = str(scope["path"]).removeprefix(scope.get("root_path", ""))
        fitting = [limit for prefix, limit in self._larger_bodies.items() if path.startswith(prefix)]
        return max([self._max_body, *fitting])

    def _is_known(self, headers: Headers) -> bool:
        return not self._hosts or _without_port(headers.get("host", "")) in self._hosts

    def _refusal(self, headers: Headers, limit: int) -> Problem | None:
        if not self._is_known(headers):
            return Problem(421, "unknown_host", "This server does not answer under that name.")
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return Problem(400, "bad_request", "Content-Length is not a number.")
        if int(length) > limit:
            return too_large(limit)
        return None


def too_large(limit: int) -> Problem:
    """The answer to a body above its limit."""
    return Problem(413, "body_too_large", f"The body may have at most {size_text(limit)}.", limit=limit)


def _bounded(receive: Receive, limit: int) -> Receive:
    """Count what comes in, because a chunked body does not say its length."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > limit:
                raise too_large(limit)
        return message

    return counted


def add_security_headers(headers: MutableHeaders, scheme: str) -> None:
    """Set the security headers that an answer does not have yet."""
    for name, value in {**SECURITY_HEADERS, **(HTTPS_HEADERS if scheme == "https" else {})}.items():
        headers.setdefault(name, value)


def _with_headers(scope: Scope, send: Send) -> Send:
    async def sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            add_security_headers(headers, scope.get("scheme", ""))
            if headers.get("content-type", "").startswith(
                ("text/html", "application/json", "application/problem")
            ):
                headers.setdefault("cache-control", "no-store")
        await send(message)

    return sealed


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).strip("[]").lower()
