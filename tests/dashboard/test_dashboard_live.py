"""What makes a page fetch itself again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dashboard_browser import ADA, OF_RED, Browser, browser_of
from dashboard_jobs import enqueue, start_flow

from backstay import Backstay
from backstay.dashboard.application import make_pages
from backstay.dashboard.frame import Frame
from backstay.dashboard.pages.changes import ChangePages
from backstay.dashboard.visitor import Visitor
from backstay.kit import SigningKeys
from backstay.testing import Harness

LISTS = {
    "home": "/", "jobs": "/jobs", "dead-letters": "/dead-letters", "failures": "/failures", "flows": "/flows",
    "schedules": "/schedules", "queues": "/queues", "workers": "/workers", "operations": "/operations",
    "alerts": "/alerts", "tenants": "/tenants", "audit": "/audit",
}  # fmt: skip


async def seen(app: Backstay, page: str, **given: str) -> Any:
    """What the stream of a page looks at."""
    pages = make_pages("Jobs", SigningKeys("s" * 32))
    streams = ChangePages(Frame(app, lambda _: None, pages))  # type: ignore[arg-type]  # nobody is asked who they are
    return await streams._looks()[page](Visitor.of(app, ADA), given)


@pytest.mark.parametrize("page", LISTS)
async def test_every_list_has_a_stream_and_says_where_it_is(app: Backstay, ada: Browser, page: str) -> None:
    shown = await ada.open(LISTS[page])

    assert f'data-stream="/events/{page}"' in shown.html
    assert await seen(app, page) == await seen(app, page)


@pytest.mark.parametrize("page", ["home", "jobs", "queues"])
async def test_a_job_that_arrives_is_a_change(app: Backstay, page: str) -> None:
    before = await seen(app, page)
    await enqueue(app, "send_mail", to="a")

    assert await seen(app, page) != before


@pytest.mark.parametrize("page", ["dead-letters", "failures", "jobs"])
async def test_a_job_that_dies_or_is_decided_about_is_a_change(
    app: Backstay, shop: Harness, page: str
) -> None:
    job = await enqueue(app, "read_file", path="/a")
    waiting = await seen(app, page)
    await shop.drain()
    dead = await seen(app, page)
    await app.dead_letters.resolve(job, by="ada", reason="read by hand")

    assert waiting != dead != await seen(app, page)


@pytest.mark.parametrize("page", ["queues", "tenants", "audit"])
async def test_what_an_operator_does_is_a_change(app: Backstay, page: str) -> None:
    before = await seen(app, page)
    await app.queues.pause("mail", by="ada", reason="the server moves")

    assert await seen(app, page) != before


async def test_a_flow_that_goes_on_is_a_change(app: Backstay, shop: Harness) -> None:
    flow = await start_flow(app)
    before = await seen(app, "flow", id=flow), await seen(app, "flows")
    await shop.drain()
    after = await seen(app, "flow", id=flow), await seen(app, "flows")

    assert before[0] != after[0]
    assert before[1] != after[1]


async def test_the_list_of_jobs_follows_its_filters(app: Backstay, ada: Browser) -> None:
    page = await ada.open("/jobs?queue=mail&state=available")
    before = await seen(app, "jobs", queue="mail")
    await enqueue(app, "charge", order=1)

    assert re.search(r'data-stream="/events/jobs\?state=available&amp;queue=mail"', page.html)
    assert await seen(app, "jobs", queue="mail") == before


async def test_a_stream_tells_nobody_what_its_page_would_not(app: Backstay) -> None:
    rosa = browser_of(app, OF_RED)

    answers = {
        page: (await rosa.open(f"/events/{page}")).status for page in ("workers", "alerts", "nonsense")
    }

    await rosa.client.aclose()
    assert answers == {"workers": 403, "alerts": 403, "nonsense": 404}
