"""Queues, limits, schedules, flows, workers, tenants, the audit trail and the system."""

from __future__ import annotations

import re
from datetime import timedelta

from dashboard_browser import Browser
from dashboard_jobs import enqueue, start_flow

from backstay import Backstay, Limit, State
from backstay.model.limits.declared import KindLimits
from backstay.testing import Harness
from backstay.testing.contract.limits import limited, take
from backstay.testing.contract.support import Store


async def test_says_whether_all_is_well_and_why_not(app: Backstay, ada: Browser, shop: Harness) -> None:
    await enqueue(app, "send_mail", to="a")

    alone = await ada.open("/")
    await shop.drain()
    await enqueue(app, "read_file", path="/x")
    await shop.drain()
    after = await ada.open("/jobs?state=dead")

    assert "Something is broken" in alone.text
    assert "Jobs wait and no worker is alive" in alone.text
    assert 'href="/workers"' in alone.html
    assert "read_file" in after.text


async def test_pauses_a_queue_with_a_reason_and_lets_it_go_on(app: Backstay, ada: Browser) -> None:
    await enqueue(app, "send_mail", to="a")
    await ada.open("/queues/mail")

    silent = await ada.send("/pauses", scope="queue", name="mail", reason="")
    paused = await ada.send("/pauses", scope="queue", name="mail", reason="the server moves", until="2h")
    [pause] = await app.queues.pauses()
    shown = await ada.open("/queues")
    resumed = await ada.send("/pauses/end", scope="queue", name="mail")
    wrong = await ada.send("/pauses", scope="planet", name="mars", reason="why not")

    assert "Say why" in silent.text
    assert "Queue mail is paused" in paused.text
    assert (pause.paused_by, pause.reason) == ("ada", "the server moves")
    assert pause.ends_at is not None
    assert "the server moves" in shown.text
    assert "Queue mail goes on." in resumed.text
    assert "Name a queue, a kind or a tenant" in wrong.text
    assert await app.queues.pauses() == []


async def test_changes_a_limit_and_undoes_it(app: Backstay, ada: Browser, shop: Harness) -> None:
    for _ in range(3):
        await enqueue(app, "shrink", album=1)
    await shop.drain()
    await ada.open("/queues/pictures")

    wrong = await ada.send("/limits", scope="queue", name="pictures", field="limit", value="many", reason="x")
    done = await ada.send(
        "/limits", scope="queue", name="pictures", field="limit", value="4", reason="slow disk"
    )
    page = await ada.open("/queues")
    undone = await ada.send("/limits/unset", scope="queue", name="pictures", field="limit")
    holders = await ada.open("/limits/key%20album%3A1")

    assert "many" in wrong.text
    assert "Queue pictures: limit is 4 now" in done.text
    assert "slow disk" in page.text
    assert "as the code declares it" in undone.text
    assert "Nobody holds a permit" in holders.text
    assert await app.limits.changes() == []


async def test_a_job_beyond_a_limit_says_who_holds_the_slots(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    running, waiting = [await enqueue(app, "shrink", album=1) for _ in range(2)]
    album = KindLimits(key_limit=Limit(1, key="album:{album}"))
    await take(
        Store(app._enqueuer.stores, shop.clock), limited(album, kind="shrink", queue="pictures"), worker="w1"
    )

    page = await ada.open(f"/jobs/{waiting}")
    limit = await ada.open("/limits/key%20album%3A1")

    assert f'href="/jobs/{running}"' in page.html.partition("Who holds")[2]
    assert 'href="/limits/key%20album%3A1">key album:1</a>' in page.html
    assert "1 of 1 in use; 1 job waiting." in limit.text


async def test_back_fills_a_schedule_after_seeing_the_count(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    await shop.travel("2d")
    first, last = shop.now - timedelta(days=30), shop.now - timedelta(days=10)
    asked = {"first": f"{first:%Y-%m-%dT%H:%M}", "last": f"{last:%Y-%m-%dT%H:%M}"}
    page = await ada.open("/schedules")

    preview = await ada.open(f"/schedules/nightly?first={asked['first']}&last={asked['last']}")
    before = len(await app.schedules.history("nightly"))
    done = await ada.send("/schedules/nightly/back-fill", **asked)
    again = await ada.open(f"/schedules/nightly?first={asked['first']}&last={asked['last']}")
    wrong = await ada.open("/schedules/nightly?first=then&last=now")

    assert "at 03:00" in page.text
    assert "20 jobs would be made" in preview.text
    assert "20 jobs made" in done.text
    assert len(await app.schedules.history("nightly")) == before + 20
    assert "0 jobs would be made" in again.text
    assert "is no moment" in wrong.text


async def test_pauses_resumes_and_runs_a_schedule(app: Backstay, ada: Browser, shop: Harness) -> None:
    await shop.travel("1s")
    await ada.open("/schedules/nightly")

    paused = await ada.send("/schedules/nightly/pause", reason="the month is closed")
    resumed = await ada.send("/schedules/nightly/resume")
    job = await ada.send("/schedules/nightly/run")
    missing = await ada.open("/schedules/nothing")

    assert "Paused: it does not fire" in paused.text
    assert "the month is closed" in paused.text
    assert "It fires again." in resumed.text
    assert job.path.startswith("/jobs/")
    assert missing.status == 404


async def test_sees_a_flow_as_a_graph_and_runs_a_part_again(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    flow = await start_flow(app)
    waiting = await ada.open(f"/flows/{flow}")
    await shop.drain()
    done = await ada.open(f"/flows/{flow}")
    members = {job.label: job for job in await app.flows.members(flow)}

    again = await ada.send(f"/flows/{flow}/retry", job=str(members["page"].id), reason="the text was wrong")
    cancelled = await ada.send(f"/flows/{flow}/cancel", reason="enough")

    assert waiting.html.count('class="node"') == 4
    assert "photos, texts" in waiting.text
    assert "4 of 4 jobs ended" in done.text
    assert "2 jobs will run again." in again.text
    assert "cancelled or asked to stop" in cancelled.text
    assert "spring" in (await ada.open("/flows")).text


async def test_sees_workers_and_what_they_know(app: Backstay, ada: Browser, shop: Harness) -> None:
    await enqueue(app, "send_mail", to="a")
    await shop.drain()
    [worker] = await app.workers.all()

    page = await ada.open("/workers")
    one = await ada.open(f"/workers/{worker.id}")
    missing = await ada.open("/workers/nobody")

    assert worker.id in page.text
    assert f"process {worker.pid}" in one.text
    assert missing.status == 404


async def test_sets_a_quota_and_pauses_a_tenant(app: Backstay, ada: Browser) -> None:
    await ada.open("/tenants")

    wrong = await ada.send("/quotas", tenant="red", most="lots", reason="fair")
    done = await ada.send("/quotas", tenant="red", most="100", reason="fair")
    await ada.send("/pauses", scope="tenant", name="blue", reason="has not paid", back="/tenants")
    page = await ada.open("/tenants")
    gone = await ada.send("/quotas/unset", tenant="red")

    assert "most must be a whole number" in wrong.text.lower()
    assert "red may have 100 jobs waiting" in done.text
    assert "has not paid" in page.text
    assert "any number may wait" in gone.text


async def test_finds_who_did_what(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "send_mail", to="a")
    await app.jobs.cancel(job, reason="not needed", by="grace")
    await app.queues.pause("mail", reason="the server moves", by="heidi")

    everything = await ada.open("/audit")
    graces = await ada.open(f"/audit?actor=grace&job={job}")
    wrong = await ada.open("/audit?job=nonsense")

    assert all(name in everything.text for name in ("grace", "heidi"))
    assert "heidi" not in graces.text
    assert "not needed" in graces.text
    assert "is no id of a job" in wrong.text


async def test_changes_a_number_for_every_worker(app: Backstay, ada: Browser, shop: Harness) -> None:
    await enqueue(app, "send_mail", to="a")
    await shop.drain()
    await ada.open("/system")

    wrong = await ada.send(
        "/overrides", scope="kind", name="send_mail", field="timeout", value="ever", reason="x"
    )
    done = await ada.send(
        "/overrides", scope="kind", name="send_mail", field="timeout", value="90s", reason="slow"
    )
    page = await ada.open("/system")
    undone = await ada.send("/overrides/unset", scope="kind", name="send_mail", field="timeout")

    assert "ever" in wrong.text
    assert "is changed, for every worker" in done.text
    assert "slow" in page.text
    assert "as the code declares it" in undone.text
    assert await app.overrides.all() == []


async def test_a_flow_says_what_each_job_waits_for_and_offers_to_run_again_from_one(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    flow = await start_flow(app)
    waiting = await ada.open(f"/flows/{flow}")
    await shop.drain()
    first = (await app.flows.members(flow))[0].id

    chosen = await ada.open(f"/flows/{flow}?from={first}")

    assert "waits for 2 jobs" in waiting.text
    assert "waits for page" in waiting.text
    assert "Run again from here" not in waiting.text
    assert '<details class="action" id="again" open>' in chosen.html
    assert f'<option value="{first}" selected>' in chosen.html


async def test_the_system_says_how_long_jobs_stay(app: Backstay, ada: Browser) -> None:
    page = await ada.open("/system")

    assert re.search(r"Completed jobs 7\sd", page.text)
    assert "Tables those of this release" in page.text


async def test_an_unknown_job_is_told_apart_from_an_error(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "send_mail", to="a")

    missing = await ada.open("/jobs/01890000-0000-7000-8000-000000000000")
    nonsense = await ada.open("/jobs/nonsense")

    assert (missing.status, nonsense.status) == (404, 404)
    assert (await app.jobs.get(job)).state is State.AVAILABLE
