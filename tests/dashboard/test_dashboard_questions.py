"""Ten questions of somebody who has never seen the dashboard, answered by what its pages show and link to."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

from dashboard_browser import Browser, Page
from dashboard_jobs import enqueue

from backstay import Backstay, JobOptions, Limit
from backstay.model.limits.declared import KindLimits
from backstay.testing import Harness
from backstay.testing.contract.limits import limited, take
from backstay.testing.contract.support import Store
from backstay.testing.contract.support import new_worker as worker


async def walk(browser: Browser, *links: str) -> Page:
    """Open the first page, and go on by links that read like this, one after the other."""
    page = await browser.open("/")
    for text in links:
        found = [
            unescape(href)
            for href, inner in re.findall(
                r'<a [^>]*href="([^"]+)"[^>]*>(.*?)</a>', page.html, flags=re.DOTALL
            )
            if text in unescape(re.sub(r"<[^>]*>", " ", inner))
        ]
        assert found, f"no link on {page.path} reads {text!r}"
        page = await browser.open(found[0])
    return page


async def test_is_it_well_and_if_not_what_do_i_do(app: Backstay, ada: Browser) -> None:
    await enqueue(app, "send_mail", to="a")

    page = await walk(ada)

    assert "Something is broken" in page.text
    assert "Jobs wait and no worker is alive" in page.text
    assert "backstay worker" in (await walk(ada, "Workers")).text


async def test_which_queue_is_behind_and_why(app: Backstay, ada: Browser) -> None:
    await enqueue(app, "send_mail", to="a")
    await app.queues.pause("mail", by="grace", reason="the server moves")

    page = await walk(ada, "Queues and limits", "mail")

    assert "grace: the server moves" in page.text
    assert "Ready 1" in page.text


async def test_why_does_this_job_not_run_and_who_is_in_its_way(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    album = KindLimits(key_limit=Limit(1, key="album:{album}"))
    running, waiting = [await enqueue(app, "shrink", album=1) for _ in range(2)]
    await take(Store(app._enqueuer.stores, shop.clock), limited(album, kind="shrink", queue="pictures"))

    page = await walk(ada, "Jobs", "Held", "shrink", "key album:1")

    assert waiting in ada.seen[-2].path
    assert f'href="/jobs/{running}"' in page.html
    assert "1 of 1 in use; 1 job waiting." in page.text


async def test_what_fails_most_and_is_it_new(app: Backstay, ada: Browser, shop: Harness) -> None:
    for order in range(3):
        await enqueue(app, "charge", order=order)
    await enqueue(app, "read_file", path="/a")
    await shop.drain()

    page = await walk(ada, "Failures")

    assert page.text.index("3 × charge") < page.text.index("1 × read_file")
    assert "new" in page.text
    assert "the gateway refused order" in page.text


async def test_who_resolved_this_and_why(app: Backstay, ada: Browser, shop: Harness) -> None:
    job = await enqueue(app, "read_file", path="/a")
    await shop.drain()
    await app.dead_letters.resolve(job, by="grace", reason="read by hand")

    page = await walk(ada, "Jobs", "Resolved", "read_file")

    assert "Decided by grace" in page.text
    assert "read by hand" in page.text


async def test_who_looks_into_this_dead_job(app: Backstay, ada: Browser, shop: Harness) -> None:
    job = await enqueue(app, "read_file", path="/a")
    await shop.drain()
    await app.dead_letters.investigate(job, by="grace", note="asked the supplier")

    page = await walk(ada, "Dead letters")

    assert "grace asked the supplier" in page.text


async def test_when_does_it_fire_next_and_did_it_fire_last_night(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    await shop.travel("2d")
    before = await walk(ada, "Schedules", "nightly")
    await app.schedules.run_now("nightly", by="grace")

    page = await walk(ada, "Schedules", "nightly")

    following = shop.now.replace(hour=3, minute=0, second=0, microsecond=0)
    following += timedelta(days=1) if following <= shop.now else timedelta()
    assert "Fires at 03:00" in page.text
    assert f"{following:%Y-%m-%d} 03:00" in page.text.partition("Next fires")[2]
    assert "It has not fired yet." in before.text
    assert "grace" in page.text.partition("What came of it")[2]


async def test_what_is_this_worker_doing_and_how_hard(app: Backstay, ada: Browser, shop: Harness) -> None:
    await app._enqueuer.stores.workers.register(worker("anna"))

    page = await walk(ada, "Workers", "anna")

    assert all(word in page.text for word in ("Jobs now", "Memory", "Loop lag", "In its hands"))


async def test_what_did_grace_change_and_why(app: Backstay, ada: Browser) -> None:
    job = await app.jobs.enqueue_by_name("send_mail", {"to": "a"}, JobOptions(delay="1h"))
    await app.jobs.cancel(job.id, by="grace", reason="the text is wrong")

    await walk(ada, "Audit")
    page = await ada.open("/audit?actor=grace")

    assert 'name="actor"' in page.html
    assert "job.cancel" in page.text
    assert "the text is wrong" in page.text


async def test_how_far_is_the_operation_and_who_started_it(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    for order in range(5):
        await enqueue(app, "charge", order=order)
    await shop.drain()
    [group] = await app.dead_letters.groups()
    await ada.open("/failures")
    await ada.send(f"/failures/{group.fingerprint}", action="resolve", reason="paid in cash", pace="2")

    page = await walk(ada, "Operations", "resolve 5 dead letters")

    assert "Started by ada" in page.text
    assert "of 5" in page.text
    assert "paid in cash" in page.text
