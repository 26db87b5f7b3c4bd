"""What holds for every page: without a script, on a phone, in the light and in the dark, with any text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser_support import Shop, dead, until
from kit_hostile import HOSTILE

from backstay import JobOptions
from backstay.kit import path_of
from backstay.records import JobFilter
from backstay_parts.browser import open_chromium

PAGES = (
    "/", "/jobs", "/failures", "/dead-letters", "/flows", "/schedules", "/schedules/nightly", "/queues",
    "/queues/mail", "/workers", "/operations", "/tenants", "/audit", "/alerts", "/system", "/jobs/new",
)  # fmt: skip
QUESTIONS = ("unlabelled", "faint", "headings", "structure")


def script(name: str) -> str:
    """A question that is asked of a page in the browser."""
    return Path(__file__).with_name(f"{name}.js").read_text()


async def every_page(shop: Shop) -> list[str]:
    """The lists, and one page of each thing in them."""
    [job] = await dead(shop, "read_file", {"path": "/" + "long" * 80})
    flow = await shop.app.flows.start(
        "spring", [{"name": "tell", "kind": "send_mail", "args": {"to": "all"}}]
    )
    worker = (await shop.app.workers.all())[0].id
    operation = await shop.app.operations.start(
        "jobs.cancel", JobFilter(tag="nobody"), reason="a look at it", by="grace"
    )
    key = await shop.app.api_keys.create("web shop")
    return [
        *PAGES,
        f"/jobs/{job}",
        f"/jobs/{job}/edit",
        f"/flows/{flow.id}",
        path_of("workers", worker),
        path_of("operations", operation.id),
        path_of("limits", "queue mail"),
        path_of("keys", key.key.prefix),
    ]


async def test_every_page_works_without_a_script(shop: Shop) -> None:
    [job] = await dead(shop, "read_file", {"path": "/plain.csv"})

    async with shop.visited(java_script_enabled=False) as visit:
        for path in await every_page(shop):
            answer = await visit.page.goto(shop.address + path)
            assert answer.status == 200, path
            assert await visit.page.locator("h1").count() == 1, path
        await visit.page.goto(f"{shop.address}/jobs/{job}")
        await visit.page.get_by_text("Ignore", exact=True).click()
        form = visit.page.locator(f'form[action="/jobs/{job}/ignore"]')
        await form.get_by_label("Why?").fill("an old test")
        await form.get_by_role("button").click()
        told = await visit.page.locator(".flash").inner_text()

    assert "Ignored" in told


PLANTED = """<html><body><div>outside</div><header></header><footer></footer><main><h1>One</h1><h3>Three</h3>
<p id="twice"></p><p id="twice"></p><input aria-describedby="nothing"><a href="#"></a>
<p style="color:#ddd">faint</p><svg><g><text y="10" fill="#ddd">faint</text></g></svg>
</main></body></html>"""


async def test_the_questions_about_pages_find_what_is_wrong(chromium: str, tmp_path: Path) -> None:
    async with open_chromium(screenshots=tmp_path) as visit:
        await visit.page.set_content(PLANTED)
        found = {name: await visit.page.evaluate(script(name)) for name in QUESTIONS}

    assert {name: len(found[name]) for name in QUESTIONS} == {
        "unlabelled": 2, "faint": 2, "headings": 1, "structure": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("width", "scheme", "expected"),
    [
        (390, "dark", "rgb(14, 20, 26)"),
        (390, "light", "rgb(244, 246, 248)"),
        (1280, "dark", "rgb(14, 20, 26)"),
        (1280, "light", "rgb(244, 246, 248)"),
    ],
)
async def test_every_page_fits_and_has_labels_headings_and_contrast(
    shop: Shop, width: int, scheme: str, expected: str
) -> None:
    pages = await every_page(shop)

    async with shop.visited(width=width, height=844, color_scheme=scheme) as visit:
        for path in pages:
            await visit.page.goto(shop.address + path)
            assert await visit.page.evaluate("document.documentElement.scrollWidth") == width, path
            for question in QUESTIONS:
                assert await visit.page.evaluate(script(question)) == [], (path, question)
        ground = await visit.page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground == expected


def printable(text: str, longest: int) -> str:
    """What names, tags and keys may hold: short and printable."""
    return "".join(letter for letter in text if letter.isprintable())[:longest].strip() or "-"


async def hostile_job(shop: Shop, number: int, text: str) -> str:
    """A job that carries a text in everything it can, and ends with it: well or badly, by turns."""
    name = printable(text, 200)
    options = JobOptions(
        name=name, description=name, tags=[printable(text, 60)], metadata={name: text}, created_by=name,
        correlation_id=f"{name} {number}", key=f"{name} {number}", tenant=name,
    )  # fmt: skip
    args = {"text": text, "fails": number % 2 == 0}
    return str((await shop.app.jobs.enqueue_by_name("repeat", args, options)).id)


async def test_hostile_texts_in_every_field_are_texts_and_violate_no_policy(shop: Shop) -> None:
    jobs = [await hostile_job(shop, number, text) for number, text in enumerate(HOSTILE)]

    async def have_ended() -> bool:
        return all([(await shop.app.jobs.get(job)).is_finished for job in jobs])

    await until(have_ended)
    for job, text in list(zip(jobs, HOSTILE, strict=True))[::2]:
        await shop.app.dead_letters.investigate(job, by=printable(text, 100), note=text)
    async with shop.visited() as visit:
        for job, text in zip(jobs, HOSTILE, strict=True):
            await visit.page.goto(f"{shop.address}/jobs/{job}", wait_until="domcontentloaded")
            said = await visit.page.locator("body").text_content() or ""
            assert printable(text, 200) in (await visit.page.locator("h1").text_content() or "")
            assert json.dumps(text, ensure_ascii=False)[1:-1] in said, text
            assert await visit.page.title() != "pwned"
        for path in ("/jobs?kind=repeat", "/dead-letters", "/failures", "/audit", "/", "/tenants"):
            await visit.page.goto(shop.address + path)
            assert await visit.page.title() != "pwned", path
        await visit.page.goto(f"{shop.address}/jobs?kind=repeat")
        listed = await visit.page.locator("#rows").text_content() or ""

    assert [text for text in HOSTILE[-40:] if printable(text, 200) not in listed] == []


async def hostile_things(shop: Shop, number: int, text: str) -> tuple[str, str]:
    """A flow, its job's label and a signal that carry a text; returns the flow and the job that has the signal.

    Kinds and queues are not among them: their names are letters, digits, dots, colons and dashes.
    """
    name = flow_name(number, text)
    flow = await shop.app.flows.start(
        name, [{"name": name, "kind": "repeat", "args": {"text": text, "fails": False}}]
    )
    waiting = await shop.app.jobs.enqueue_by_name("send_mail", {"to": "ada"}, JobOptions(delay="2h"))
    await shop.app.signals.send(waiting.id, "decision", {"text": text, name: text}, by=name)
    return str(flow.id), str(waiting.id)


def flow_name(number: int, text: str) -> str:
    return f"{printable(text, 60)} {number}"


async def test_hostile_names_of_flows_labels_and_signals_are_texts(shop: Shop) -> None:
    texts = HOSTILE[-40:]
    things = [await hostile_things(shop, number, text) for number, text in enumerate(texts)]
    names = [flow_name(number, text) for number, text in enumerate(texts)]

    async with shop.visited() as visit:
        listed = ""
        for path in ("/flows", f"/flows?cursor={things[-20][0]}", f"/flows?cursor={things[0][0]}", "/audit"):
            await visit.page.goto(shop.address + path)
            listed += await visit.page.locator("main").text_content() or ""
            assert await visit.page.title() != "pwned", path
        for (flow, job), name in list(zip(things, names, strict=True))[::4]:
            await visit.page.goto(f"{shop.address}/flows/{flow}", wait_until="domcontentloaded")
            assert name in (await visit.page.locator("h1").text_content() or "")
            assert name in (await visit.page.locator("table").first.text_content() or "")
            await visit.page.goto(f"{shop.address}/jobs/{job}", wait_until="domcontentloaded")
            assert name in (await visit.page.locator("main").text_content() or "")

    assert [name for name in names if name not in listed] == []
