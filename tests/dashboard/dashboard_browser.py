"""A browser without a screen: opens pages of the dashboard, and sends the forms that are on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

import httpx
from fastapi import FastAPI

from backstay import Backstay
from backstay.dashboard import dashboard
from backstay.http import Person, Role
from backstay.testing import Harness

HTML = {"Accept": "text/html"}


@dataclass
class Page:
    """What was answered, and where it led."""

    status: int
    path: str
    html: str
    headers: httpx.Headers

    @property
    def text(self) -> str:
        """What a person reads: without tags, spaces folded."""
        bare = re.sub(r"<(script|style)\b.*?</\1>", " ", self.html, flags=re.DOTALL)
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", bare))).strip()

    @property
    def token(self) -> str:
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.html)
        return found[1] if found else ""

    @property
    def actions(self) -> set[str]:
        """Where the forms of the page lead."""
        return {
            unescape(one) for one in re.findall(r'<form[^>]* method="post"[^>]* action="([^"]+)"', self.html)
        }


@dataclass
class Browser:
    """One visitor of a dashboard."""

    web: FastAPI
    client: httpx.AsyncClient
    seen: list[Page] = field(default_factory=list)

    async def open(self, path: str) -> Page:
        return self._kept(await self.client.get(path, headers=HTML))

    async def send(self, path: str, **fields: object) -> Page:
        """Send a form as the last page would have; lists become several fields of one name."""
        token = self.seen[-1].token if self.seen else ""
        data = {"csrf_token": token, **{name: value for name, value in fields.items() if value is not None}}
        return self._kept(await self.client.post(path, data=data, headers=HTML))

    def _kept(self, answer: httpx.Response) -> Page:
        page = Page(answer.status_code, answer.url.path, answer.text, answer.headers)
        self.seen.append(page)
        return page


def browser_of(app: Backstay, person: Person | None) -> Browser:
    """The dashboard of an application as this person, or a stranger, uses it."""

    async def authenticate(_: object) -> Person | None:
        return person

    web = dashboard(app, authenticate=authenticate)
    transport = httpx.ASGITransport(web)
    return Browser(
        web, httpx.AsyncClient(transport=transport, base_url="http://jobs.test", follow_redirects=True)
    )


ADA = Person("ada", "*", Role.ADMIN, sees_payloads=True)
OPERATOR = Person("olga", "*", Role.OPERATOR)
VIEWER = Person("vera", "*", Role.VIEWER)
OF_RED = Person("rosa", "red", Role.OPERATOR, sees_payloads=True)


async def ended(browser: Browser, page: Page, shop: Harness) -> Page:
    """The page of an operation once that has ended: a step is due with every moment."""
    while 'id="operation" class="live" data-live="30"' in page.html:
        await shop.travel("1s")
        page = await browser.open(page.path)
    return page
