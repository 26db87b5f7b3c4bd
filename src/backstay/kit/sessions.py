"""Sessions of people in a browser: a signed cookie that says who they are and until when."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request, Response

from backstay.kit.actor import Actor, Roles
from backstay.kit.environment import Clock, random_text, utc_now
from backstay.kit.signing import SigningKeys

PURPOSE = "session"


@dataclass(frozen=True)
class Session:
    """What the cookie says."""

    id: str
    name: str
    tenant: str
    roles: tuple[str, ...]
    started_at: datetime
    expires_at: datetime
    actor_id: str = ""


class Sessions:
    """Starts, reads and ends sessions.

    The cookie is signed, HttpOnly and SameSite=Lax, and Secure wherever the page came by https. It holds no
    secret: a name, a tenant, roles and times. `still_valid` is asked for each request, so that an application
    can end sessions of somebody who left.
    """

    def __init__(
        self,
        keys: SigningKeys,
        roles: Roles,
        *,
        cookie: str = "backstay_session",
        lifetime: timedelta = timedelta(hours=12),
        still_valid: Callable[[Session], Awaitable[bool]] | None = None,
        now: Clock = utc_now,
    ) -> None:
        self._keys = keys
        self._roles = roles
        self._still_valid = still_valid
        self._now = now
        self.cookie = cookie
        self.lifetime = lifetime

    def start(self, request: Request, response: Response, actor: Actor) -> Session:
        """Begin a session for somebody who has just proved who they are; an older one is replaced."""
        now = self._now()
        session = Session(
            id=random_text(),
            name=actor.name,
            tenant=actor.tenant,
            roles=tuple(sorted(actor.roles)),
            started_at=now,
            expires_at=now + self.lifetime,
            actor_id=actor.id,
        )
        response.set_cookie(
            self.cookie,
            self._keys.seal(PURPOSE, _written(session)),
            max_age=int(self.lifetime.total_seconds()),
            **cookie_rules(request),
        )
        return session

    def end(self, request: Request, response: Response) -> None:
        """Take the cookie away."""
        response.delete_cookie(self.cookie, **cookie_rules(request))

    def read(self, request: Request) -> Session | None:
        """Return the session of a request; None if it is missing, has expired, or was not made by us."""
        sealed = request.cookies.get(self.cookie, "")
        data = self._keys.open(PURPOSE, sealed) if sealed else None
        session = _read(data) if data is not None else None
        return session if session and session.expires_at > self._now() else None

    async def actor(self, request: Request) -> Actor | None:
        """Return who holds the session of a request."""
        session = self.read(request)
        if session is None or (self._still_valid and not await self._still_valid(session)):
            return None
        return self._roles.actor(
            session.name, session.roles, tenant=session.tenant, via="session", actor_id=session.actor_id
        )


def cookie_rules(request: Request) -> dict[str, Any]:
    """Return how a cookie of the kit is set: for this site, unreadable by scripts, Secure over https."""
    return {
        "path": request.scope.get("root_path", "") or "/",
        "httponly": True,
        "samesite": "lax",
        "secure": request.url.scheme == "https",
    }


def _written(session: Session) -> bytes:
    told = {
        "id": session.id,
        "name": session.name,
        "tenant": session.tenant,
        "roles": session.roles,
        "from": session.started_at.timestamp(),
        "until": session.expires_at.timestamp(),
        "actor": session.actor_id,
    }
    return json.dumps(told, separators=(",", ":")).encode()


def _read(data: bytes) -> Session | None:
    try:
        told = json.loads(data)
        return Session(
            id=told["id"],
            name=told["name"],
            tenant=told["tenant"],
            roles=tuple(told["roles"]),
            started_at=datetime.fromtimestamp(told["from"], UTC),
            expires_at=datetime.fromtimestamp(told["until"], UTC),
            actor_id=told["actor"],
        )
    except (ValueError, KeyError, TypeError):
        # Signed by us, but by a release that wrote it otherwise: the person logs in again.
        return None
