"""People and programs that visit the application."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import httpx

from backstay.kit import hash_password
from backstay_oblicore.web.access import token_for

PASSWORD = "correct horse"
HASH = hash_password(PASSWORD)


def program(world: Any, address: str, user: UUID, *roles: str) -> httpx.AsyncClient:
    """A program with somebody's token."""
    token = token_for(world.services.settings.secret, user, list(roles))
    return httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60)


@asynccontextmanager
async def logged_in(world: Any, address: str, user: UUID) -> AsyncIterator[httpx.AsyncClient]:
    """A browser in which somebody has logged in."""
    await world.execute("UPDATE oblicore.users SET password_hash = $2 WHERE id = $1", user, HASH)
    email = await world.value("SELECT email FROM oblicore.users WHERE id = $1", user)
    async with httpx.AsyncClient(base_url=address, follow_redirects=True, timeout=60) as browser:
        page = await browser.get("/login")
        form = {"csrf_token": token_of(page), "username": email, "password": PASSWORD}
        answer = await browser.post("/login", data=form)
        assert answer.status_code == 200, answer.text[:300]
        yield browser


async def send(browser: httpx.AsyncClient, page: str, action: str = "", **fields: Any) -> httpx.Response:
    """Open a page and send one of its forms."""
    shown = await browser.get(page)
    return await browser.post(action or page, data={"csrf_token": token_of(shown), **fields})


def token_of(page: httpx.Response) -> str:
    """The token that a form of the page carries."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert found, page.text[:300]
    return found[1]
