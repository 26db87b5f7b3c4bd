"""Deciding about dead jobs, one by one and by their cause."""

from __future__ import annotations

from dashboard_browser import Browser, ended
from dashboard_jobs import enqueue

from backstay import Backstay, State
from backstay.testing import Harness


async def test_resolves_a_dead_job_with_a_reason_and_sees_who_did_it(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    job = await enqueue(app, "read_file", path="/gone.csv")
    await shop.drain()
    inbox = await ada.open("/dead-letters")

    silent = await ada.send(f"/jobs/{job}/resolve", reason="  ")
    resolved = await ada.send(f"/jobs/{job}/resolve", reason="read by hand")
    again = await ada.send(f"/jobs/{job}/resolve", reason="once more")

    assert "there is no /gone.csv" in inbox.text
    assert "Say why" in silent.text
    assert "Resolved" in resolved.text
    assert "read by hand" in resolved.text
    assert "ada" in resolved.text.partition("What happened")[2]
    assert "Cannot" in again.text
    assert (await app.jobs.get(job)).state is State.RESOLVED
    assert "No dead letter is open." in (await ada.open("/dead-letters")).text


async def test_retries_a_dead_job_with_other_arguments(app: Backstay, ada: Browser, shop: Harness) -> None:
    job = await enqueue(app, "charge", order=1, cents=5)
    await shop.drain()
    form = await ada.open(f"/jobs/{job}/edit")

    broken = await ada.send(f"/jobs/{job}/edit", arguments='{"order": ', reason="too little")
    misfit = await ada.send(f"/jobs/{job}/edit", arguments='{"order": "one"}', reason="too little")
    done = await ada.send(f"/jobs/{job}/edit", arguments='{"order": 1, "cents": 2000}', reason="too little")
    await shop.drain()

    stored = await app.jobs.get(job)
    assert '"cents": 5' in form.text
    assert (broken.status, misfit.status) == (422, 422)
    assert '{"order": "one"}' in misfit.text
    assert "Nothing was changed" in misfit.text
    assert "It runs again with the new arguments." in done.text
    assert (stored.state, stored.result) == (State.COMPLETED, 2000)


async def test_takes_a_dead_letter_over_and_ignores_another(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    jobs = [await enqueue(app, "read_file", path=name) for name in ("/a", "/b")]
    await shop.drain()
    await ada.open("/dead-letters")

    await ada.send(f"/jobs/{jobs[0]}/investigate", note="asked the supplier")
    await ada.send(f"/jobs/{jobs[1]}/ignore", reason="an old test")
    inbox = await ada.open("/dead-letters")

    assert "asked the supplier" in inbox.text
    assert "ada" in inbox.text
    assert jobs[1][-12:] not in inbox.text


async def test_retries_a_group_of_one_cause_and_stops_half_way(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    for order in range(60):
        await enqueue(app, "charge", order=order)
    await enqueue(app, "read_file", path="/other")
    await shop.drain()
    groups = await ada.open("/failures")
    [cause] = {one.fingerprint for one in await app.dead_letters.groups() if one.kind == "charge"}

    page = await ada.send(f"/failures/{cause}", action="retry", reason="the gateway is back", pace="8")
    await shop.travel("1s")
    await ada.send(f"{page.path}/stop")
    page = await ended(ada, page, shop)

    left = next(one.letters for one in await app.dead_letters.groups() if one.kind == "charge")
    assert "60 × charge" in groups.text
    assert "stopped" in page.text
    assert "Stopped by ada" in page.text
    assert 0 < left < 60
    assert (await ada.open("/operations")).text.count("retry 60 dead letters") == 1


async def test_a_cause_that_strikes_again_after_a_decision_is_marked(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    first = await enqueue(app, "read_file", path="/a")
    await shop.drain()
    new = await ada.open("/failures")
    await app.dead_letters.resolve(first, by="ann", reason="the file is there now")
    await shop.travel("1h")
    await enqueue(app, "read_file", path="/b")
    await shop.drain()

    again = await ada.open("/failures")

    assert "regressed" not in new.text
    assert "regressed" in again.text
    assert "last decided about" in again.text


async def test_resolves_a_whole_group(app: Backstay, ada: Browser, shop: Harness) -> None:
    for order in range(5):
        await enqueue(app, "charge", order=order)
    await shop.drain()
    await ada.open("/failures")
    [group] = await app.dead_letters.groups()

    wrong = await ada.send(f"/failures/{group.fingerprint}", action="burn", reason="because")
    slow = await ada.send(f"/failures/{group.fingerprint}", action="retry", reason="because", pace="-1")
    page = await ended(
        ada, await ada.send(f"/failures/{group.fingerprint}", action="resolve", reason="paid in cash"), shop
    )

    assert "Choose to retry or to resolve" in wrong.text
    assert "the pace is a number" in slow.text.lower()
    assert "completed" in page.text
    assert "No open failure." in (await ada.open("/failures")).text
