"""The inbox of dead letters: whose they are, and what one tick reaches."""

from __future__ import annotations

import re
from dataclasses import replace

from dashboard_browser import Browser
from dashboard_jobs import enqueue

from backstay import Backstay
from backstay.model.outcome import Crashed
from backstay.testing import Harness
from backstay.testing.contract.support import POLICY, Store


async def test_finds_the_letters_that_somebody_or_nobody_looks_into(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    mine, other, new = [await enqueue(app, "read_file", path=name) for name in ("/a", "/b", "/c")]
    await shop.drain()
    await ada.open("/dead-letters")
    await ada.send(f"/jobs/{mine}/investigate", note="asked the supplier")
    await app.dead_letters.investigate(other, by="grace")

    of_ada, of_grace = await ada.open("/dead-letters?owner=ada"), await ada.open("/dead-letters?owner=grace")
    of_nobody = await ada.open("/dead-letters?owner=-")
    of_ivan = await ada.open("/dead-letters?owner=ivan")

    assert [listed(page.html) for page in (of_ada, of_grace, of_nobody)] == [[mine], [other], [new]]
    assert "No open dead letter fits." in of_ivan.text


async def test_selecting_all_letters_reaches_no_crash_victim(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    failed = await enqueue(app, "read_file", path="/a")
    await shop.drain()
    victim = await crash_victim(shop)

    page = await ada.open("/dead-letters")

    forms = re.findall(r'<form method="post" action="/jobs".*?</form>', page.html, flags=re.DOTALL)
    assert [listed(form) for form in forms] == [[failed], [victim]]
    assert [form.count('data-select-all="job"') for form in forms] == [1, 1]


async def crash_victim(shop: Harness) -> str:
    """A job whose worker died while it ran, as often as is allowed."""
    store = Store(shop.app._enqueuer.stores, shop.clock)
    claim = await store.claimed()
    await store.end(claim, Crashed("w", was_alone=True), policy=replace(POLICY, max_crashes=1))
    return str(claim.id)


def listed(html: str) -> list[str]:
    """The jobs whose letters a page shows."""
    return re.findall(r'name="job" value="([^"]+)"', html)
