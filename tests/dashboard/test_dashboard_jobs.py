"""Finding jobs, understanding one, and acting on them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from dashboard_browser import VIEWER, Browser, ended
from dashboard_jobs import enqueue

from backstay import Backstay, JobOptions, State
from backstay.testing import Harness


async def test_finds_jobs_by_what_stands_in_the_address(app: Backstay, ada: Browser) -> None:
    await app.jobs.enqueue_by_name("send_mail", {"to": "a"}, JobOptions(tags=["spring"], tenant="red"))
    await enqueue(app, "charge", order=1)

    everything = await ada.open("/jobs")
    mail = await ada.open("/jobs?kind=send_mail&state=available&tag=spring&tenant=red&created=1h")
    nothing = await ada.open("/jobs?queue=elsewhere")

    assert all(kind in everything.text for kind in ("send_mail", "charge"))
    assert "charge" not in mail.text.partition("Progress or error")[2]
    assert "Tag spring" in mail.text
    assert "No job fits these filters." in nothing.text


async def test_finds_failed_jobs_by_the_class_of_their_error_and_who_made_them(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    await app.jobs.enqueue_by_name("charge", {"order": 1}, JobOptions(created_by="grace"))
    await enqueue(app, "flaky", order=2)
    await shop.drain()

    by_class = await ada.open("/jobs?error=transient_network")
    by_maker = await ada.open("/jobs?created_by=grace")
    nobody = await ada.open("/jobs?error=timeout")

    for page in (by_class, by_maker):
        assert "charge" in page.text.partition("Progress or error")[2]
        assert "flaky" not in page.text.partition("Progress or error")[2]
    assert "Error class transient_network" in by_class.text
    assert 'value="rate_limit"' in by_class.html
    assert "No job fits these filters." in nobody.text


async def test_a_view_has_a_name_that_stands_in_the_address(app: Backstay, ada: Browser) -> None:
    await enqueue(app, "send_mail", to="a")

    plain = await ada.open("/jobs?queue=mail")
    named = await ada.open("/jobs?queue=mail&view=Mail+of+today")
    ready = await ada.open("/jobs?created=24h&state=dead&view=Died+in+the+last+day")

    assert "Name of this view" in plain.text
    assert "<h1>Mail of today</h1>" in named.html
    assert "send_mail" in named.text.partition("Progress or error")[2]
    assert "Died in the last day" in plain.text
    assert ready.status == 200


async def test_an_id_leads_to_the_job_and_a_bad_filter_says_what_is_wrong(
    app: Backstay, ada: Browser
) -> None:
    job = await enqueue(app, "send_mail", to="a")

    found = await ada.open(f"/jobs?q={job}")
    no_id = await ada.open("/jobs?parent=nonsense")
    no_state = await ada.open("/jobs?state=nonsense")
    no_time = await ada.open("/jobs?created_from=yesterday")

    assert found.path == f"/jobs/{job}"
    assert "'nonsense' is no id of a job" in no_id.text
    assert (no_state.status, no_time.status) == (200, 200)
    assert "nonsense" in no_state.text.partition("Filter")[2]
    assert "write it as 2026-03-01T09:30" in no_time.text


async def test_cancels_the_selected_jobs_with_a_reason(app: Backstay, ada: Browser) -> None:
    jobs = [await enqueue(app, "send_mail", to=str(number)) for number in range(3)]
    await ada.open("/jobs")

    refused = await ada.send("/jobs", job=jobs[:2], action="cancel", reason="")
    done = await ada.send("/jobs", job=jobs[:2], action="cancel", reason="sent by hand")

    states = [(await app.jobs.get(job)).state for job in jobs]
    history = await app.jobs.history(jobs[0])
    assert "Say why" in refused.text
    assert "Cancelled: 2 jobs." in done.text
    assert states == [State.CANCELLED, State.CANCELLED, State.AVAILABLE]
    assert (history[-1].actor, history[-1].reason) == ("ada", "sent by hand")


async def test_tells_which_of_the_selected_jobs_could_not_be_acted_on(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    ended = await enqueue(app, "send_mail", to="a")
    await shop.drain()
    waiting = await enqueue(app, "send_mail", to="b")
    await ada.open("/jobs")

    page = await ada.send("/jobs", job=[ended, waiting], action="hold", reason="wait for the text")

    assert "Held: 1 job; not 1 other" in page.text
    assert (await app.jobs.get(waiting)).state is State.HELD


@pytest.mark.parametrize("span", ["", "&created=1h"])
async def test_walks_through_a_long_list(app: Backstay, ada: Browser, span: str) -> None:
    """The last hour is that of the first page, however long somebody reads it."""
    for number in range(60):
        await enqueue(app, "send_mail", to=str(number))

    first = await ada.open(f"/jobs?kind=send_mail{span}")
    more = first.html.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    second = await ada.open(more)

    assert first.html.count('name="job"') == 50
    assert second.html.count('name="job"') == 10


async def test_everything_that_matches_becomes_an_operation(
    app: Backstay, ada: Browser, shop: Harness
) -> None:
    for number in range(51):
        await enqueue(app, "send_mail", to=str(number))
    other = await enqueue(app, "charge", order=1)
    offered = await ada.open("/jobs?kind=send_mail")

    page = await ada.send("/jobs/matching", kind="send_mail", action="cancel", reason="wrong text")
    page = await ended(ada, page, shop)

    counts = {count.kind: (count.state, count.jobs) for count in await app.jobs.counts()}
    assert "Do something with every job that fits these filters" in offered.text
    assert "cancel all jobs with kind send_mail" in page.text
    assert counts == {"send_mail": (State.CANCELLED, 51), "charge": (State.AVAILABLE, 1)}
    assert (await app.jobs.get(other)).state is State.AVAILABLE


async def test_finds_why_a_job_waits(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "send_mail", to="a")
    await app.queues.pause("mail", reason="the server moves", by="grace")

    page = await ada.open(f"/jobs/{job}")

    assert "Why is it not running?" in page.text
    assert "paused" in page.text
    assert "grace" in page.text
    assert "the server moves" in page.text


async def test_sees_each_attempt_with_its_error(app: Backstay, ada: Browser, shop: Harness) -> None:
    job = await enqueue(app, "flaky", order=7)
    await shop.drain(with_scheduled=True)

    page = await ada.open(f"/jobs/{job}")

    assert "Attempt 1 failed" in page.text
    assert "Attempt 2 failed" in page.text
    assert "ValueError: no luck with 7" in page.text
    assert "Dead: needs a decision" in page.text
    assert "dead" in page.text


async def test_copies_a_job_as_a_command_as_python_and_as_a_request(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "send_mail", to="it's me")

    page = await ada.open(f"/jobs/{job}")

    assert "backstay enqueue send_mail --args" in page.text
    assert "enqueue_by_name('send_mail'" in page.text
    assert 'curl -X POST "$BACKSTAY_API/jobs"' in page.text
    assert f'select(.job_id == "{job}")' in page.text


async def test_sees_steps_progress_and_result(app: Backstay, ada: Browser, shop: Harness) -> None:
    counted = await enqueue(app, "count_up", total=10)
    approved = await enqueue(app, "approve", order=3)
    mailed = await enqueue(app, "send_mail", to="ada")
    await shop.drain()

    progress = await ada.open(f"/jobs/{counted}")
    waiting = await ada.open(f"/jobs/{approved}")
    result = await ada.open(f"/jobs/{mailed}")

    assert "5 of 10" in progress.text
    assert "look it up" in waiting.text
    assert "It waits for the signal 'decision'" in waiting.text
    assert "sent to ada" in result.text


async def test_sends_the_signal_that_a_job_waits_for(app: Backstay, ada: Browser, shop: Harness) -> None:
    job = await enqueue(app, "approve", order=3)
    await shop.drain()
    await ada.open(f"/jobs/{job}")

    wrong = await ada.send(f"/jobs/{job}/signal", name="decision", payload="{not json")
    sent = await ada.send(f"/jobs/{job}/signal", name="decision", payload='"yes"')
    await shop.drain()

    assert "decision was sent" not in wrong.text
    assert "Signal decision was sent." in sent.text
    assert (await app.jobs.get(job)).result == "yes"


async def test_holds_releases_moves_and_cancels_one_job(app: Backstay, ada: Browser, shop: Harness) -> None:
    job = await enqueue(app, "send_mail", to="a")
    await ada.open(f"/jobs/{job}")
    later = shop.now + timedelta(days=3)

    seen = [
        await ada.send(f"/jobs/{job}/hold", reason="wait"),
        await ada.send(f"/jobs/{job}/release"),
        await ada.send(f"/jobs/{job}/reschedule", run_at=later.strftime("%Y-%m-%dT%H:%M")),
        await ada.send(f"/jobs/{job}/run-now"),
        await ada.send(f"/jobs/{job}/cancel", reason="enough"),
        await ada.send(f"/jobs/{job}/release"),
    ]

    told = ["Held until", "Released.", f"Moved to {later:%Y-%m-%d %H:%M}", "runs as soon as", "Cancelled."]
    assert [words in page.text for words, page in zip(told, seen, strict=False)] == [True] * 5
    assert "Cannot release job" in seen[-1].text
    assert (await app.jobs.get(job)).state is State.CANCELLED


async def test_hurries_a_job_and_runs_it_again(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "charge", order=4, cents=50)
    await ada.open(f"/jobs/{job}")

    hurried = await ada.send(f"/jobs/{job}/priority", priority="2", reason="the customer called")
    wrong = await ada.send(f"/jobs/{job}/priority", priority="soon", reason="the customer called")
    again = await ada.send(f"/jobs/{job}/clone", reason="the template was mended")

    made = await app.jobs.get(again.path.rpartition("/")[2])
    first = await ada.open(f"/jobs/{job}")
    assert "Its priority is 2" in hurried.text
    assert "'soon'" in wrong.text
    assert (await app.jobs.get(job)).priority == 2
    assert "This is the new job" in again.text
    assert "Made from" in again.text
    assert (made.args["order"], made.priority, made.metadata["cloned_from"]) == (4, 2, str(job))
    assert "Made from it" in first.text
    assert str(made.id) in first.html


async def test_enqueues_a_copy_with_other_arguments(app: Backstay, ada: Browser) -> None:
    # Kinds are known to the database when a worker has declared them, or by the application itself.
    job = await enqueue(app, "charge", order=4, cents=50)

    form = await ada.open(f"/jobs/new?from={job}")
    wrong = await ada.send("/jobs/new", kind="charge", arguments='{"order": "four"}')
    nothing = await ada.send("/jobs/new", kind="", arguments="{}")
    made = await ada.send("/jobs/new", kind="charge", arguments='{"order": 5}', delay="1h", tags="a, b")

    stored = await app.jobs.get(made.path.rpartition("/")[2])
    assert '"order": 4' in form.text
    assert wrong.status == nothing.status == 422
    assert '{"order": "four"}' in wrong.text
    assert "Nothing was stored" in wrong.text
    assert (stored.args["order"], stored.tags, stored.created_by) == (5, ("a", "b"), "ada")
    assert stored.state is State.SCHEDULED


async def test_a_viewer_sees_no_payload_and_no_action(app: Backstay, visit: object, shop: Harness) -> None:
    job = await enqueue(app, "send_mail", to="secret@example.org")
    await shop.drain()
    assert callable(visit)
    vera: Browser = visit(VIEWER)

    page = await vera.open(f"/jobs/{job}")
    refused = await vera.send(f"/jobs/{job}/cancel", reason="because")
    edit = await vera.open(f"/jobs/{job}/edit")

    assert "secret@example.org" not in page.html
    assert "payloads.read" in page.text
    assert page.actions == {"/_theme"}
    assert "takes the right 'jobs.cancel'" in refused.text
    assert edit.status == 403
