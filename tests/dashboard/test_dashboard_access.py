"""Who is let in, what they see, and that nothing they send becomes more than a text."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest
from dashboard_browser import OF_RED, VIEWER, Browser
from dashboard_jobs import HOSTILE, enqueue, start_flow
from fastapi.routing import APIRoute

from backstay import Backstay, JobOptions, State
from backstay.dashboard import Account, Standalone, dashboard
from backstay.errors import InvalidSettings
from backstay.testing import Harness

OPEN_TO_ALL = {"/_theme"}


def routes(browser: Browser) -> list[tuple[str, str]]:
    """Every route of the dashboard with a method, its placeholders filled."""
    # Newer releases of FastAPI keep an included router as one route.
    inside = [getattr(each, "original_router", browser.web.router) for each in browser.web.routes]
    found = [route for router in inside for route in router.routes if isinstance(route, APIRoute)]
    return sorted(
        {
            (method, re.sub(r"\{[^}]*\}", "x", route.path))
            for route in found
            if route.path not in OPEN_TO_ALL
            for method in route.methods
        }
    )


def test_a_dashboard_without_a_way_to_know_people_is_refused() -> None:
    app = Backstay("sqlite://:memory:")

    with pytest.raises(InvalidSettings, match="needs authenticate="):
        dashboard(app)
    with pytest.raises(InvalidSettings, match="32 characters"):
        dashboard(app, authenticate=lambda request: None, secret="short")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", "::"])
def test_it_does_not_listen_beyond_this_machine_without_a_password(host: str) -> None:
    with pytest.raises(InvalidSettings, match="BACKSTAY_DASHBOARD_PASSWORD"):
        Standalone(Backstay("sqlite://:memory:"), host=host, port=0)


def test_a_short_password_is_refused_and_never_shown() -> None:
    with pytest.raises(InvalidSettings, match="12 characters"):
        Account("ada", "short")
    assert "correct horse battery" not in repr(Account("ada", "correct horse battery"))


async def test_no_page_answers_a_stranger(app: Backstay, visit: object) -> None:
    assert callable(visit)
    stranger: Browser = visit(None)
    await enqueue(app, "send_mail", to="secret")

    answers = {
        (method, path): await stranger.client.request(method, path, headers={"Accept": "text/html"})
        for method, path in routes(stranger)
    }

    assert len(answers) > 40
    assert {status.status_code for (method, _), status in answers.items() if method == "GET"} == {401}
    assert {status.status_code for (method, _), status in answers.items() if method == "POST"} <= {401, 403}
    assert not [path for path, answer in answers.items() if "send_mail" in answer.text]


async def test_a_viewer_changes_nothing_by_any_form(app: Backstay, visit: object, shop: Harness) -> None:
    assert callable(visit)
    vera: Browser = visit(VIEWER)
    job = await enqueue(app, "send_mail", to="a")
    await shop.travel("1s")
    before = await app.audit.search(limit=1)
    await vera.open("/")
    paths = [path for method, path in routes(vera) if method == "POST"]
    fields = {
        "reason": "because", "action": "cancel", "job": job, "scope": "queue", "name": "mail", "field": "limit",
        "value": "3", "most": "5", "kind": "send_mail", "arguments": '{"to": "b"}', "run_at": "2030-01-01T00:00",
        "first": "2020-01-01T00:00", "last": "2020-01-03T00:00",
    }  # fmt: skip

    for path in paths:
        path = re.sub("^/jobs/x", f"/jobs/{job}", path).replace("/schedules/x", "/schedules/nightly")
        page = await vera.send(path, **fields)
        assert page.status in (200, 403, 404, 422), path

    after = await app.audit.search(limit=1)
    assert [entry.id for entry in after] == [entry.id for entry in before]
    assert [(one.id, one.state) for one in (await app.jobs.search()).jobs] == [
        ((await app.jobs.get(job)).id, State.AVAILABLE)
    ]


async def test_a_form_without_its_token_or_from_another_site_is_refused(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "send_mail", to="a")
    page = await ada.open(f"/jobs/{job}")

    bare = await ada.client.post(f"/jobs/{job}/cancel", data={"reason": "x"})
    foreign = await ada.client.post(
        f"/jobs/{job}/cancel",
        data={"reason": "x", "csrf_token": page.token},
        headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    )

    assert (bare.status_code, foreign.status_code) == (403, 403)
    assert (await app.jobs.get(job)).state is State.AVAILABLE


async def test_a_tenant_sees_itself_alone(app: Backstay, visit: object, shop: Harness) -> None:
    assert callable(visit)
    rosa: Browser = visit(OF_RED)
    own = await app.jobs.enqueue_by_name("send_mail", {"to": "mine"}, JobOptions(tenant="red"))
    foreign = await app.jobs.enqueue_by_name("charge", {"order": 1}, JobOptions(tenant="blue"))
    await shop.drain()

    pages = {path: await rosa.open(path) for path in ("/", "/jobs", "/dead-letters", "/failures", "/queues")}
    mine = await rosa.open(f"/jobs/{own.id}")
    theirs = await rosa.open(f"/jobs/{foreign.id}")
    refused = [await rosa.open(path) for path in ("/workers", "/system")]

    assert {page.status for page in pages.values()} == {200}
    assert not [path for path, page in pages.items() if "charge" in page.text or "payments" in page.text]
    assert (mine.status, theirs.status) == (200, 404)
    assert [page.status for page in refused] == [403, 403]


async def test_hostile_texts_are_shown_as_texts_everywhere(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    options = JobOptions(
        name=HOSTILE, description=HOSTILE, tags=[HOSTILE], metadata={HOSTILE: HOSTILE}, tenant="red",
        created_by=HOSTILE, correlation_id=HOSTILE, key=HOSTILE,
    )  # fmt: skip
    mail = await app.jobs.enqueue_by_name("send_mail", {"to": HOSTILE}, options)
    dead = await app.jobs.enqueue_by_name("read_file", {"path": HOSTILE}, JobOptions(name=HOSTILE))
    held = await enqueue(app, "publish", site=HOSTILE)
    flow = await start_flow(app)
    await shop.drain()
    await app.dead_letters.investigate(dead.id, by=HOSTILE, note=HOSTILE)
    await app.queues.pause("mail", reason=HOSTILE, by=HOSTILE)
    await app.quotas.set(7, tenant=HOSTILE, reason=HOSTILE, by=HOSTILE)
    paths = [
        "/", "/jobs", "/dead-letters", "/failures", "/queues", "/queues/mail", "/schedules", "/schedules/nightly",
        "/flows", "/workers", "/tenants", "/audit", "/system", "/operations", "/jobs/new", f"/flows/{flow}",
        f"/jobs/{mail.id}", f"/jobs/{dead.id}", f"/jobs/{held}", f"/jobs/{dead.id}/edit", f"/jobs/new?from={dead.id}",
        f"/jobs?tag={HOSTILE}", f"/jobs?state={HOSTILE}", f"/audit?actor={HOSTILE}", f"/queues/{HOSTILE}",
    ]  # fmt: skip

    pages = {path: await ada.open(path) for path in paths}

    # A name with a slash is that of no queue, and not even of a page.
    assert [path for path, page in pages.items() if page.status != 200] == [f"/queues/{HOSTILE}"]
    unescaped = [
        path for path, page in pages.items() if "<script>doc" in page.html or "<img src=x" in page.html
    ]
    assert unescaped == []
    assert HOSTILE in unescape(pages[f"/jobs/{mail.id}"].html)
    assert HOSTILE in unescape(pages["/dead-letters"].html)


async def test_every_answer_carries_the_policy_for_content(app: Backstay, ada: Browser) -> None:
    await enqueue(app, "send_mail", to="a")
    page = await ada.open("/jobs")

    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?! src)| on\w+=|style=", page.html)


async def test_it_works_below_another_application(app: Backstay) -> None:
    from dashboard_browser import ADA
    from fastapi import FastAPI

    async def authenticate(_: object) -> object:
        return ADA

    site = FastAPI()
    site.mount("/team/jobs", dashboard(app, authenticate=authenticate))  # type: ignore[arg-type]  # the same person
    job = await enqueue(app, "send_mail", to="a")
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(site),
        base_url="http://x",
        follow_redirects=True,
        headers={"Accept": "text/html"},
    )

    page = await client.get("/team/jobs/jobs")
    token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert token
    acted = await client.post(
        f"/team/jobs/jobs/{job}/cancel", data={"reason": "enough", "csrf_token": token[1]}
    )
    await client.aclose()

    assert f'href="/team/jobs/jobs/{job}"' in page.text
    assert acted.url.path == f"/team/jobs/jobs/{job}"
    assert (await app.jobs.get(job)).state is State.CANCELLED


async def test_the_link_lets_in_and_serves_programs_as_a_token(app: Backstay) -> None:
    server = Standalone(app, port=0)
    address, _, token = server.address.partition("/enter?token=")
    job = await enqueue(app, "send_mail", to="a")
    transport = httpx.ASGITransport(server.web)

    async with httpx.AsyncClient(
        transport=transport, base_url=address, headers={"Accept": "text/html"}
    ) as browser:
        stranger = await browser.get("/jobs")
        guessed = await browser.get("/enter?token=guessed")
        entered = await browser.get(f"/enter?token={token}")
        jobs = await browser.get("/jobs")
        one = await browser.get(f"/jobs/{job}")
        elsewhere = await browser.get("/jobs", headers={"Host": "evil.example"})
    async with httpx.AsyncClient(transport=transport, base_url=address) as program:
        bare = await program.get("/api/v1/jobs")
        known = await program.get("/api/v1/jobs", headers={"Authorization": f"Bearer {token}"})
    server.close()

    assert (stranger.status_code, guessed.status_code, entered.status_code) == (401, 403, 303)
    assert "send_mail" in jobs.text
    assert f"{address}/api/v1/jobs" in one.text
    assert "Open the link that the server printed" in stranger.text
    assert elsewhere.status_code == 421
    assert (bare.status_code, known.status_code) == (401, 200)


async def test_beyond_this_machine_people_log_in_with_the_password(app: Backstay) -> None:
    server = Standalone(app, host="0.0.0.0", port=0, account=Account("ada", "correct horse battery"))
    transport = httpx.ASGITransport(server.web)

    async with httpx.AsyncClient(
        transport=transport,
        base_url="http://jobs.test",
        headers={"Accept": "text/html"},
        follow_redirects=True,
    ) as browser:
        login = await browser.get("/jobs")
        token = re.search(r'name="csrf_token" value="([^"]+)"', login.text)
        assert token
        form = {"username": "ada", "csrf_token": token[1], "next": "/jobs"}
        wrong = await browser.post("/login", data={**form, "password": "guessed it surely"})
        right = await browser.post("/login", data={**form, "password": "correct horse battery"})
    server.close()

    assert login.url.path == "/login"
    assert wrong.url.path == "/login"
    assert right.url.path == "/jobs"
    assert "Log out" in right.text
