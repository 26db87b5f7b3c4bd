"""What people do with the dashboard in a real browser: one test an intention."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from browser_support import Shop, dead, until

from backstay import JobOptions, State
from backstay.records import DeadLetterFilter


async def test_finds_why_a_job_waits(shop: Shop) -> None:
    await shop.app.queues.pause("letters", reason="the printer is broken", by="grace")
    handle = await shop.app.jobs.enqueue_by_name("send_mail", {"to": "ada"}, JobOptions(queue="letters"))

    async with shop.visited() as visit:
        await visit.page.get_by_role("link", name="Jobs", exact=True).click()
        await visit.page.get_by_label("Queue").fill("letters")
        await visit.page.get_by_role("button", name="Filter").click()
        await visit.page.locator(f'a[href="/jobs/{handle.id}"]').click()
        why = await visit.page.locator(".why").inner_text()

    await shop.app.queues.resume("letters", by="test")
    assert "Why is it not running?" in why
    assert "grace" in why
    assert "the printer is broken" in why


async def test_resolves_a_dead_job_with_a_reason_and_sees_who_did_it(shop: Shop) -> None:
    [job] = await dead(shop, "read_file", {"path": "/resolve.csv"})

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/jobs/{job}")
        await visit.page.get_by_text("Resolve", exact=True).click()
        form = visit.page.locator(f'form[action="/jobs/{job}/resolve"]')
        await form.get_by_label("Why?").fill("read by hand")
        await form.get_by_role("button").click()
        told = await visit.page.locator(".flash").inner_text()
        history = await visit.page.locator(".timeline").inner_text()

    [letter] = await shop.app.dead_letters.of_job(job)
    assert "Resolved" in told
    assert "read by hand" in history
    assert letter.resolved_by is not None
    assert letter.resolved_by in history


async def test_retries_failed_jobs_of_one_cause_and_stops_half_way(shop: Shop) -> None:
    await dead(shop, "charge", *({"order": number} for number in range(500)))

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/failures")
        group = visit.page.locator(".failure", has_text="charge")
        await group.locator("summary", has_text="Retry all").click()
        await group.get_by_label("At most so many a second").fill("20")
        await group.get_by_label("Why?").first.fill("the gateway is back")
        await group.get_by_role("button", name="Retry all").click()
        await visit.page.get_by_role("button", name="Stop").click()
        await visit.page.get_by_text("stopped", exact=True).wait_for()
        told = await visit.page.locator("#operation").inner_text()

    reached = re.search(r"(\d+) of (\d+)", told)
    assert "Stopped by" in told
    # Those that were tried again may have died again: how far it went stands in the operation.
    assert reached
    assert 0 < int(reached[1]) < 500 <= int(reached[2])
    assert await shop.app.dead_letters.count(DeadLetterFilter(kind="charge")) > 0


async def test_sees_progress_move_without_reloading(shop: Shop) -> None:
    job = await shop.app.jobs.enqueue_by_name("report", {"pages": 500})

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/jobs/{job.id}")
        bar = visit.page.locator("progress").first
        await bar.wait_for()
        await visit.page.evaluate("window.stillTheSamePage = true")
        before = float(await bar.get_attribute("value") or 0)

        async def has_moved() -> bool:
            return float(await bar.get_attribute("value") or 0) > before

        await until(has_moved)
        same = await visit.page.evaluate("window.stillTheSamePage")

    await shop.app.jobs.cancel(job.id, reason="seen enough", by="test")
    assert same


async def test_back_fills_a_schedule_after_seeing_the_count(shop: Shop) -> None:
    last = datetime.now(UTC) - timedelta(days=1)
    first = last - timedelta(days=5)

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/schedules/nightly")
        await visit.page.get_by_label("From (UTC)").fill(f"{first:%Y-%m-%dT%H:%M}")
        await visit.page.get_by_label("To (UTC)").fill(f"{last:%Y-%m-%dT%H:%M}")
        await visit.page.get_by_role("button", name="Count the fires").click()
        count = await visit.page.locator("#back-fill .notice").inner_text()
        await visit.page.get_by_role("button", name="Make 5 jobs").click()
        told = await visit.page.locator(".flash").inner_text()

    assert "5 jobs would be made" in count
    assert "5 jobs made" in told


async def test_selects_jobs_and_cancels_them(shop: Shop) -> None:
    options = JobOptions(delay="2h", tags=["basket"])
    jobs = [await shop.app.jobs.enqueue_by_name("send_mail", {"to": str(one)}, options) for one in range(3)]

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/jobs?tag=basket")
        await visit.page.get_by_label("Select all on this page").check()
        selected = await visit.page.locator("[data-selected]").inner_text()
        await visit.page.get_by_label("Why?").fill("the shop is closed")
        await visit.page.get_by_role("button", name="Cancel", exact=True).click()
        told = await visit.page.locator(".flash").inner_text()

    assert selected == "3 selected"
    assert told == "Cancelled: 3 jobs."
    assert {(await job.get()).state for job in jobs} == {State.CANCELLED}


async def test_sees_a_new_job_in_the_list_without_reloading(shop: Shop) -> None:
    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/jobs?tag=parcel")
        await visit.page.get_by_text("No job fits these filters.").wait_for()
        await visit.page.evaluate("window.stillTheSamePage = true")
        job = await shop.app.jobs.enqueue_by_name(
            "send_mail", {"to": "ada"}, JobOptions(delay="2h", tags=["parcel"])
        )
        await visit.page.locator(f'#rows a[href="/jobs/{job.id}"]').wait_for()
        same = await visit.page.evaluate("window.stillTheSamePage")

    assert same


async def test_sees_a_job_die_in_the_inbox_and_keeps_what_was_typed(shop: Shop) -> None:
    [first] = await dead(shop, "read_file", {"path": "/first.csv"})

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/dead-letters?kind=read_file")
        await visit.page.locator(f'#letters a[href="/jobs/{first}"]').wait_for()
        await visit.page.evaluate("window.stillTheSamePage = true")
        await visit.page.locator(f'input[value="{first}"]').check()
        [second] = await dead(shop, "read_file", {"path": "/second.csv"})
        # Sooner than the page would fetch itself without a stream.
        await visit.page.locator(f'#letters a[href="/jobs/{second}"]').wait_for(timeout=20_000)
        is_ticked = await visit.page.locator(f'input[value="{first}"]').is_checked()
        same = await visit.page.evaluate("window.stillTheSamePage")

    assert same
    assert is_ticked


async def test_finds_failures_by_their_class_and_keeps_the_view_under_a_name(shop: Shop) -> None:
    await dead(shop, "charge", {"order": 1})

    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/jobs")
        await visit.page.get_by_text("More", exact=True).click()
        await visit.page.get_by_label("Error class").fill("transient_network")
        await visit.page.get_by_role("button", name="Filter").click()
        await visit.page.get_by_text("Views", exact=True).click()
        await visit.page.get_by_label("Name of this view").fill("The gateway")
        await visit.page.get_by_role("button", name="Name it").click()
        address, heading = visit.page.url, await visit.page.locator("h1").inner_text()
        listed = await visit.page.locator("#rows").inner_text()

    assert heading == "The gateway"
    assert "error=transient_network" in address
    assert "view=The+gateway" in address
    assert "charge" in listed


async def test_runs_a_flow_again_from_the_job_that_failed(shop: Shop) -> None:
    flow = await shop.app.flows.start(
        "orders",
        [
            {"name": "read", "kind": "read_file", "args": {"path": "/orders.csv"}},
            {"name": "tell", "kind": "send_mail", "args": {"to": "all"}, "after": ["read"]},
        ],
    )

    async def has_failed() -> bool:
        return any(job.state is State.DEAD for job in await shop.app.flows.members(flow.id))

    await until(has_failed)
    async with shop.visited() as visit:
        await visit.page.goto(f"{shop.address}/flows/{flow.id}")
        await visit.page.locator("tr", has_text="read").first.get_by_role("link", name="Run again").click()
        form = visit.page.locator("#again form")
        await form.get_by_label("Why?").fill("the file is there now")
        await form.get_by_role("button").click()
        told = await visit.page.locator(".flash").inner_text()

    assert "will run again" in told


async def test_goes_somewhere_and_acts_by_the_keyboard_alone(shop: Shop) -> None:
    async with shop.visited() as visit:
        keys = visit.page.keyboard
        await visit.page.goto(f"{shop.address}/jobs")
        await keys.press("g")
        await keys.press("d")
        await visit.page.wait_for_url("**/dead-letters")
        await keys.press("Control+k")
        await keys.type("alerts")
        await keys.press("Enter")
        await visit.page.wait_for_url("**/alerts")
        await keys.press("?")
        shown = await visit.page.locator("dialog[open]").inner_text()

    assert "Dead letters" in shown
