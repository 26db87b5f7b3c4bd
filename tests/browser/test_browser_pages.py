"""What holds for every page: without a script, on a phone, in the light and in the dark, with any text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser_support import Shop, dead, until
from kit_hostile import HOSTILE

from backstay import JobOptions
from backstay.kit import path_of

PAGES = (
    "/", "/jobs", "/failures", "/dead-letters", "/flows", "/schedules", "/schedules/nightly", "/queues",
    "/queues/mail", "/workers", "/operations", "/tenants", "/audit", "/alerts", "/system", "/jobs/new",
)  # fmt: skip


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
    return [*PAGES, f"/jobs/{job}", f"/jobs/{job}/edit", f"/flows/{flow.id}", path_of("workers", worker)]


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
            for question in ("unlabelled", "faint", "headings"):
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
