"""Who may do what over HTTP: people with a role, how a request becomes one, and the link of a local server."""

from __future__ import annotations

import getpass
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from fastapi import Request
from fastapi.security.utils import get_authorization_scheme_param

from backstay.app import Backstay
from backstay.client.acting.acting import Acting
from backstay.kit.actor import Actor, Roles
from backstay.kit.authentication import client_address
from backstay.kit.csrf import Csrf
from backstay.kit.environment import random_text
from backstay.kit.problems import Problem
from backstay.kit.sessions import Sessions
from backstay.kit.signing import SigningKeys
from backstay.kit.throttle import Throttle
from backstay.model.rights import EVERYTHING, RIGHTS, covers, narrowed
from backstay.model.rights import PAYLOADS as PAYLOADS

ALL_TENANTS = EVERYTHING


class Role(StrEnum):
    """What somebody may do: look, act on jobs, or administer everything."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


SEES_PAYLOADS = "payloads"
ROLES = Roles({**RIGHTS, SEES_PAYLOADS: [PAYLOADS]})


@dataclass(frozen=True)
class Person:
    """Somebody who was recognised. The tenant `"*"` stands for all tenants.

    `scopes`, if given, narrow the rights of the role to these: an API key may do less than its role.
    """

    name: str
    tenant: str = ""
    role: Role = Role.VIEWER
    sees_payloads: bool = False
    scopes: frozenset[str] | None = None
    id: str = ""
    """The stable id behind the name, such as the prefix of an API key."""
    via: str = ""
    """How they were recognised: `link`, `session`, `api key`, `jwt`."""

    @property
    def rights(self) -> frozenset[str]:
        """Everything that they may do."""
        granted = RIGHTS[Role(self.role).value]
        if self.scopes is not None:
            granted = narrowed(granted, self.scopes)
        return granted | {PAYLOADS} if self.sees_payloads else granted

    def may(self, right: str) -> bool:
        """Return True if they have this right."""
        return covers(self.rights, right)

    @property
    def actor(self) -> Actor:
        """The same person for pages made with the kit."""
        roles = {Role(self.role).value, *([SEES_PAYLOADS] if self.sees_payloads else [])}
        return Actor(self.name, self.tenant, self.rights, frozenset(roles), self.via, self.id)


Authenticate = Callable[[Request], Awaitable[Person | None]]
"""Tells who sends a request, or None: what an application hands in that has a login of its own."""


def person_of(actor: Actor | None) -> Person | None:
    """Return the person behind an actor of the kit; None for nobody, or for one without a role of ours."""
    if actor is None:
        return None
    role = next((role for role in reversed(Role) if role.value in actor.roles), None)
    if role is None:
        return None
    return Person(
        actor.name, actor.tenant, role, SEES_PAYLOADS in actor.roles, id=actor.id, via=actor.via or "session"
    )


def acting(app: Backstay, person: Person) -> Acting:
    """Return the nouns of an application as this person may use them."""
    return app.acting_as(person.name, tenant=person.tenant, rights=person.rights)


def bearer_of(request: Request) -> str:
    """Return the key or token that a request carries in a header, or an empty text."""
    scheme, given = get_authorization_scheme_param(request.headers.get("authorization"))
    return given if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")


class LinkAccess:
    """Lets in visitors who have the link that a local server prints when it starts, as Jupyter does.

    The token opens a session when the link is opened in a browser (`kit.AccessLink(pages, …, token=access.token)`
    with `Pages(keys=access.keys, sessions=access.sessions)`), and serves programs as
    `Authorization: Bearer <token>`. Made anew at each start; for loopback only.
    """

    def __init__(self, name: str = "", *, token: str = "", throttle: Throttle | None = None) -> None:
        self.token = token or random_text(32)
        self.keys = SigningKeys(f"backstay link {self.token} {random_text(32)}")
        self.sessions = Sessions(self.keys, ROLES)
        self.csrf = Csrf(self.keys, self.sessions)
        self.person = Person(name or system_user(), ALL_TENANTS, Role.ADMIN, sees_payloads=True, via="link")
        self._throttle = throttle or Throttle(free=20)

    async def authenticate(self, request: Request) -> Person | None:
        """Recognise the token in a header, or the session that the link has opened."""
        given = bearer_of(request)
        if not given:
            return await self._by_session(request)
        caller = f"token from {client_address(request)}"
        self._throttle.check(caller)
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            self._throttle.failed(caller)
            return None
        return self.person

    async def _by_session(self, request: Request) -> Person | None:
        person = person_of(await self.sessions.actor(request))
        if person is not None:
            await self.csrf.protect(request)
        return person

    def __repr__(self) -> str:
        return f"<LinkAccess for {self.person.name}>"


def system_user() -> str:
    """Return the name of the user whose process this is."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that no user has.
        return "local"


def first_of(*ways: Authenticate) -> Authenticate:
    """Return the way that asks several ones in turn; the first that recognises somebody counts."""

    async def authenticate(request: Request) -> Person | None:
        for way in ways:
            person = await way(request)
            if person is not None:
                return person
        return None

    return authenticate


def check_same_site(csrf: Csrf, request: Request) -> None:
    """Refuse an unsafe request that a browser says was made by another site; keys in a header are no cookie."""
    if request.method not in {"GET", "HEAD", "OPTIONS"} and not bearer_of(request):
        csrf.check_origin(request)


def not_allowed(person: Person, right: str) -> Problem:
    """The answer to somebody who lacks a right."""
    return Problem(403, "not_allowed", f"{person.name} lacks the right {right}.", right=right)
