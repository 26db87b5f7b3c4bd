"""No form and no address brings the dashboard down, whatever stands in it."""

from __future__ import annotations

import re
from urllib.parse import quote

from dashboard_browser import Browser
from dashboard_jobs import enqueue, start_flow
from fastapi.routing import APIRoute

from backstay import Backstay
from backstay.testing import Harness

FIELDS = (
    "action", "arguments", "as_new", "delay", "expires", "field", "first", "job", "key", "kind", "last", "length",
    "most", "name", "note", "overlap", "pace", "payload", "prefix", "priority", "queue", "reason", "role", "rule",
    "run_at", "scope", "sees_payloads", "tags", "tenant", "until", "value", "version",
)  # fmt: skip
FITTING = {
    "action": "retry",
    "arguments": "{}",
    "scope": "queue",
    "field": "limit",
    "kind": "charge",
    "role": "viewer",
}
"""What lets a form come to its other fields."""
HOSTILE = (
    "²", "--5", "9" * 30, "9" * 5000, "1e400", "nan", "a\0b", "\ud800", "[" * 3000, '"\\ud800"', "%00",
    "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", "x" * 100_000,
)  # fmt: skip
ASKED = (
    "cursor", "q", "state", "kind", "queue", "tenant", "worker", "tag", "error", "created_by", "correlation", "parent",
    "created", "created_from", "created_to", "field", "fingerprint", "owner", "actor", "job", "since", "until", "first",
    "last", "from", "view",
)  # fmt: skip


def paths(browser: Browser, method: str, known: dict[str, str]) -> list[str]:
    """Every address of the dashboard, about things that are there; not the streams of events, which never end."""
    inside = [getattr(each, "original_router", browser.web.router) for each in browser.web.routes]
    routes = [route for router in inside for route in router.routes if isinstance(route, APIRoute)]
    found = {route.path for route in routes if method in route.methods and "/events" not in route.path}
    return [re.sub(r"\{(\w+)(?::path)?\}", lambda name: known[name[1]], path) for path in sorted(found)]


async def known_things(app: Backstay, shop: Harness) -> dict[str, str]:
    """One thing of each sort, by the names that addresses have for them."""
    job = await enqueue(app, "charge", order=1)
    flow = await start_flow(app)
    await shop.drain()
    [group] = await app.dead_letters.groups()
    key = await app.api_keys.create("web shop")
    return {
        "job_id": job, "flow_id": flow, "fingerprint": group.fingerprint, "queue": "payments", "key": "key%20album",
        "name": "nightly", "worker_id": "nobody", "operation_id": flow, "prefix": key.key.prefix,
    }  # fmt: skip


async def test_no_form_is_answered_by_a_failure_of_ours(app: Backstay, ada: Browser, shop: Harness) -> None:
    forms = paths(ada, "POST", await known_things(app, shop))
    await ada.open("/system")

    failed = [
        (path, text[:20])
        for path in forms
        for text in map(sendable, HOSTILE)
        for fitting in ({}, FITTING)
        if await answered(ada, path, {**dict.fromkeys(FIELDS, text), **fitting}) >= 500
    ]

    assert len(forms) > 30
    assert failed == []


async def test_no_address_is_answered_by_a_failure_of_ours(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    known = await known_things(app, shop)
    lists, failed = paths(ada, "GET", known), []

    for text in map(sendable, HOSTILE):
        asked = quote(text[:500])
        query = "&".join(f"{name}={asked}" for name in ASKED)
        for path in [*paths(ada, "GET", dict.fromkeys(known, asked)), *(f"{one}?{query}" for one in lists)]:
            if (await ada.open(path)).status >= 500:
                failed.append(path)

    assert len(lists) > 20
    assert failed == []


async def answered(browser: Browser, path: str, fields: dict[str, str]) -> int:
    """The answer to a form, without going where it leads."""
    token = {"csrf_token": browser.seen[-1].token}
    return (await browser.client.post(path, data={**fields, **token}, follow_redirects=False)).status_code


def sendable(text: str) -> str:
    """What comes of a text on its way: half of a pair of surrogates becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
