"""Who is calling: sessions, API keys and tokens as FastAPI dependencies that return an Actor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from backstay.kit.actor import Actor
from backstay.kit.api_keys import ApiKeys
from backstay.kit.csrf import Csrf
from backstay.kit.jwt_tokens import JwtTokens
from backstay.kit.problems import Problem
from backstay.kit.sessions import Sessions
from backstay.kit.throttle import Throttle

ActorDependency = Callable[..., Awaitable[Actor]]

_bearer = HTTPBearer(auto_error=False, description="An API key or a JSON Web Token")
_key_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="An API key")

Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
KeyHeader = Annotated[str | None, Security(_key_header)]


class Authentication:
    """Recognises callers in every way that an application allows.

    ```python
    auth = Authentication(sessions=sessions, csrf=pages.csrf, api_keys=ApiKeys(store, roles))

    @app.post("/api/v1/batteries")
    async def create(actor: Annotated[Actor, Depends(auth.require("batteries.write"))]) -> ...: ...
    ```

    A key or token that is given but wrong is refused; it never falls back to a session. A session needs the
    token of a form (or the header `X-CSRF-Token`) on every unsafe request.
    """

    def __init__(
        self,
        *,
        sessions: Sessions | None = None,
        csrf: Csrf | None = None,
        api_keys: ApiKeys | None = None,
        jwt: JwtTokens | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        if sessions is not None and csrf is None:
            raise ValueError("sessions need csrf=: a cookie alone must not be able to change anything")
        if sessions is None and api_keys is None and jwt is None:
            raise ValueError(
                "give at least one of sessions=, api_keys= and jwt=: otherwise nobody can get in"
            )
        self._sessions = sessions
        self._csrf = csrf
        self._api_keys = api_keys
        self._jwt = jwt
        self._throttle = throttle or Throttle(free=20)

    @property
    def actor(self) -> ActorDependency:
        """The dependency that returns the caller, or answers 401."""
        return self.require("")

    def require(self, right: str) -> ActorDependency:
        """Return the dependency that lets an actor with this right pass, and answers 401 or 403 to others."""

        async def required(request: Request, bearer: Bearer, key: KeyHeader) -> Actor:
            actor = await self._recognise(request, bearer, key)
            if actor is None:
                raise not_authenticated()
            if not actor.may(right):
                raise Problem(403, "not_allowed", f"{actor.name} lacks the right {right}.", right=right)
            return actor

        return required

    @property
    def optional(self) -> Callable[..., Awaitable[Actor | None]]:
        """The dependency that returns the caller, or None."""

        async def maybe(request: Request, bearer: Bearer, key: KeyHeader) -> Actor | None:
            return await self._recognise(request, bearer, key)

        return maybe

    async def _recognise(
        self, request: Request, bearer: HTTPAuthorizationCredentials | None, key: str | None
    ) -> Actor | None:
        given = key or (bearer.credentials if bearer else None)
        actor = await (self._by_text(request, given) if given else self._by_session(request))
        request.state.actor = actor
        return actor

    async def _by_text(self, request: Request, given: str) -> Actor:
        """Try the text as a key, then as a token; guessing is slowed down by the caller's address."""
        caller = f"credentials from {client_address(request)}"
        self._throttle.check(caller)
        actor = await self._api_keys.actor(given) if self._api_keys else None
        if actor is None and self._jwt is not None:
            actor = self._jwt.actor(given)
        if actor is None:
            self._throttle.failed(caller)
            raise Problem(
                401,
                "credentials_refused",
                "The API key or token is unknown, expired or revoked.",
                headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        return actor

    async def _by_session(self, request: Request) -> Actor | None:
        if self._sessions is None or self._csrf is None:
            return None
        actor = await self._sessions.actor(request)
        if actor is not None:
            await self._csrf.protect(request)
        return actor


def not_authenticated() -> Problem:
    """The answer to somebody who did not say who they are."""
    return Problem(
        401,
        "not_authenticated",
        "Log in, or send an API key as `Authorization: Bearer <key>`.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def client_address(request: Request) -> str:
    """Return the address of the caller as the server sees it; behind a proxy uvicorn's `--proxy-headers` sets it."""
    return request.client.host if request.client else "unknown"
