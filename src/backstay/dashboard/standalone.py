"""The dashboard as a server of its own: on this machine by a link, beyond it with a password."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI, Request

from backstay.app import Backstay
from backstay.dashboard.application import assemble, make_pages
from backstay.dashboard.frame import API
from backstay.errors import InvalidSettings
from backstay.http import ApiKeyAccess, api, first_of, jwt_access_of
from backstay.http.access import ALL_TENANTS, ROLES, Authenticate, LinkAccess, Person, Role, person_of
from backstay.kit import AccessLink, Actor, Login, Passwords, Sessions, SigningKeys, hash_password
from backstay.kit.environment import random_text

DEFAULT_PORT = 8282
SHORTEST_PASSWORD = 12
USE_THE_LINK = "Open the link that the server printed when it started; it is made anew at each start."
GRACE_SECONDS = 1


@dataclass(frozen=True)
class Account:
    """The name and the password that open a dashboard beyond this machine."""

    name: str
    password: str

    def __post_init__(self) -> None:
        if not self.name or len(self.password) < SHORTEST_PASSWORD:
            raise InvalidSettings(
                f"a dashboard's account needs a name and a password of at least {SHORTEST_PASSWORD} characters"
            )

    def __repr__(self) -> str:
        return f"Account({self.name!r})"


class Standalone:
    """A dashboard that listens by itself; `address` is what to print, and holds the token of the link."""

    def __init__(
        self,
        app: Backstay,
        *,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        account: Account | None = None,
        token: str = "",
    ) -> None:
        if account is None and not is_loopback(host):
            raise InvalidSettings(
                f"a dashboard on {host} can be reached by others and needs a password: set "
                "BACKSTAY_DASHBOARD_USER and BACKSTAY_DASHBOARD_PASSWORD, or listen on 127.0.0.1"
            )
        self._socket = _listen(host, port)
        bound = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        hosts = _names(host) if account is None else ()
        self.web, path = _by_link(app, hosts, token) if account is None else _by_password(app, account)
        self.address = f"http://{shown}:{bound}{path}"
        # A stream of events never ends by itself: it must not hold up the end of the server.
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.web,
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
                proxy_headers=False,
            )
        )

    def run(self) -> None:
        """Serve until a signal comes."""
        self._server.run(sockets=[self._socket])

    async def serve(self) -> None:
        """Serve on the running event loop until `stop`, or until a signal comes."""
        await self._server.serve(sockets=[self._socket])

    def stop(self) -> None:
        """End `serve` soon."""
        self._server.should_exit = True

    def close(self) -> None:
        """Listen no more, where it was never served."""
        self._socket.close()


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach a server on this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _by_link(app: Backstay, hosts: Sequence[str], token: str) -> tuple[FastAPI, str]:
    access = LinkAccess(token=token)
    pages = make_pages("Backstay", access.keys, sessions=access.sessions)
    web = assemble(
        app, access.authenticate, pages, advice_to_strangers=USE_THE_LINK, hosts=hosts, closes=True
    )
    link = AccessLink(pages, access.person.actor, token=access.token)
    web.include_router(link.router())
    web.mount(API, api(app, authenticate=first_of(*_for_programs(app), access.authenticate)))
    return web, link.path


def _by_password(app: Backstay, account: Account) -> tuple[FastAPI, str]:
    keys = SigningKeys(random_text(48))
    sessions = Sessions(keys, ROLES)
    pages = make_pages("Backstay", keys, sessions=sessions)
    passwords, stored = Passwords(), hash_password(account.password)
    person = Person(account.name, ALL_TENANTS, Role.ADMIN, sees_payloads=True, via="session")

    async def check(name: str, password: str) -> Actor | None:
        is_right = await passwords.match(password, stored if name == account.name else None)
        return person.actor if is_right else None

    async def authenticate(request: Request) -> Person | None:
        return person_of(await sessions.actor(request))

    web = assemble(app, authenticate, pages, closes=True)
    web.include_router(Login(pages, check).router())
    # Programs come with keys: the session of a person is for pages, whose forms carry a token.
    web.mount(API, api(app, authenticate=first_of(*_for_programs(app))))
    return web, "/"


def _for_programs(app: Backstay) -> list[Authenticate]:
    """API keys, and the tokens of another system where the environment says how to check them."""
    tokens = jwt_access_of(os.environ)
    return [ApiKeyAccess(app).authenticate, *([] if tokens is None else [tokens.authenticate])]


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidSettings(
            f"the dashboard cannot listen on {host}, port {port} ({error.strerror}): choose another with --port, "
            "or --port 0 for any that is free"
        ) from error


def _names(host: str) -> list[str]:
    """The names under which a server on this machine answers: not under one that another site has made up."""
    return sorted({host, "localhost", "127.0.0.1", "::1"})
