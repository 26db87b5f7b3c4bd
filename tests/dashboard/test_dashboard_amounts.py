"""Numbers on pages: told exactly up to a limit, and marked beyond it."""

from __future__ import annotations

import re

from dashboard_browser import Browser

from backstay import Backstay, JobOptions
from backstay.client.metrics import MOST_COUNTED


async def test_many_jobs_of_one_queue_are_marked_as_more_and_hide_no_other_queue(
    app: Backstay, ada: Browser
) -> None:
    @app.job(queue="crowded")
    async def letter() -> None: ...

    @app.job(queue="quiet")
    async def parcel() -> None: ...

    await letter.options(delay="1h").enqueue_many([{}] * (MOST_COUNTED + 1))
    await parcel.options(delay="2h").enqueue_many([{}] * 50)

    home, queues = await ada.open("/"), await ada.open("/queues")
    of_crowded, of_quiet = await ada.open("/queues/crowded"), await ada.open("/queues/quiet")
    chips = await ada.open("/jobs")

    assert "Scheduled 10 050+" in home.text
    assert "each kind up to 10 000" in home.text
    assert "10 000+" in queues.text
    assert 'href="/jobs?queue=quiet&amp;state=scheduled">50<' in queues.html
    assert "Scheduled 10 000+" in of_crowded.text
    assert "Scheduled 50 " in of_quiet.text
    assert "Scheduled 10 050+" in chips.text


async def test_tenants_are_listed_with_what_they_have_to_do(app: Backstay, ada: Browser) -> None:
    for tenant, jobs in {"red": 3, "blue & green": 1, "": 2}.items():
        for number in range(jobs):
            options = JobOptions(tenant=tenant or None, delay="1h" if number else None)
            await app.jobs.enqueue_by_name("send_mail", {"to": "a"}, options)
    await app.queues.pause(tenant="blue & green", by="grace", reason="it has not paid")

    page = await ada.open("/tenants")
    jobs_of_blue = await ada.open("/jobs?tenant=blue%20%26%20green")

    listed = re.findall(r'<a href="/jobs\?tenant=([^"&]*)">([^<]*)</a>', page.html)
    assert listed == [("red", "red"), ("blue%20%26%20green", "blue &amp; green")]
    assert 'href="/jobs?tenant=red&amp;state=scheduled">2<' in page.html
    assert "it has not paid" in page.html
    assert "send_mail" in jobs_of_blue.text.partition("Progress or error")[2]
