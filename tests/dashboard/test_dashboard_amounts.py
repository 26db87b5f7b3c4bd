"""Numbers on pages: told exactly up to a limit, and marked beyond it."""

from __future__ import annotations

from dashboard_browser import Browser

from backstay import Backstay
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
