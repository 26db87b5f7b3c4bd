"""The pages in a real browser: scripts blocked, phone and dark layout, live parts, keys."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from kit_app import served
from kit_hostile import HOSTILE
from playwright.async_api import Page, async_playwright
from test_kit_pages import CONTENT, EVERYTHING, KEYS, application, everything

from backstay.kit import Event, NavItem, Pages, event_stream

DEADLINE = 60_000

ALL = f"""{{% extends "kit/page.html" %}}{{% import "kit/macros.html" as ui with context %}}
{{% block content %}}{{% for each in all %}}
{{% set t, entry, tab, links = each.t, each.entry, each.tab, each.links %}}
{{% set choice, row, box = each.choice, each.row, each.box %}}
{CONTENT}{{% endfor %}}{{% endblock %}}"""

COUNTER = """{% extends "kit/page.html" %}{% import "kit/macros.html" as ui with context %}
{% block actions %}{{ ui.post_button("Add one", "/add", key="a") }}
{{ ui.post_button("Ask", "/add", confirm="Sure?") }}{% endblock %}
{% block content %}{% call ui.live("part", every=0, stream="/events") %}<p id="count">{{ count }}</p>{% endcall %}
{{ ui.search() }}{% endblock %}"""


@asynccontextmanager
async def opened(app: FastAPI, **options: Any) -> AsyncIterator[tuple[Page, str, list[str]]]:
    """A page of a real browser, the address of the application, and what the console said."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "these tests need Chromium: apt-get install -y chromium"
    async with served(app) as address, async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = await chromium.new_page(**options)
        page.set_default_timeout(DEADLINE)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        yield page, address, said
        await chromium.close()


class Counter:
    """An application with one number that a page shows live."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self.changed = asyncio.Event()
        (folder / "counter.html").write_text(COUNTER)
        pages = Pages("Counter", KEYS, nav=[NavItem("Home", "/", key="g h")], templates=folder)
        web = pages.router()

        @web.get("/")
        async def show(request: Request) -> Response:
            return pages.render(request, "counter.html", title="Counter", count=self.count)

        @web.post("/add")
        async def add(request: Request) -> Response:
            self.add()
            return pages.redirect(request, "/", flash="Added.")

        @web.get("/events")
        async def events() -> Response:
            return event_stream(self.events(), heartbeat=1)

        self.app = FastAPI()
        pages.install(self.app)
        self.app.include_router(web)

    def add(self) -> None:
        self.count += 1
        self.changed.set()

    async def events(self) -> AsyncIterator[Event]:
        while True:
            await self.changed.wait()
            self.changed.clear()
            yield Event({"count": self.count}, name="changed", id=str(self.count))


async def test_hostile_texts_run_nothing_and_violate_no_policy(tmp_path: Path) -> None:
    app = application(tmp_path, {"all": ALL}, all=[everything(text) for text in HOSTILE])

    async with opened(app) as (page, address, said):
        await page.goto(f"{address}/all?text=harmless")
        title = await page.title()
        shown = await page.locator("body").text_content() or ""

    violations = [line for line in said if "Content Security Policy" in line or "Error:" in line]
    hidden = [text for text in HOSTILE if shown.count(text) < 20]
    assert title == "harmless · harmless"
    assert violations == []
    assert hidden == []


async def test_pages_fit_a_phone_and_follow_the_system_into_the_dark(tmp_path: Path) -> None:
    app = application(tmp_path, {"everything": EVERYTHING})
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}

    async with opened(app, **phone) as (page, address, _):
        await page.goto(f"{address}/everything")
        width = await page.evaluate("document.documentElement.scrollWidth")
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        await page.goto(f"{address}/everything?text={'w' * 300}")
        wide = await page.evaluate("document.documentElement.scrollWidth")

    assert (width, wide) == (390, 390)
    assert ground == "rgb(14, 20, 26)"


async def test_everything_works_without_a_script(tmp_path: Path) -> None:
    counter = Counter(tmp_path)

    async with opened(counter.app, java_script_enabled=False) as (page, address, _):
        await page.goto(address)
        await page.get_by_role("button", name="Add one").click()
        await page.get_by_text("Added.").wait_for()
        shown = await page.locator("#count").text_content()
        await page.get_by_role("button", name="Dark colours").click()
        theme = await page.locator("html").get_attribute("data-theme")
        menu = await page.get_by_role("link", name="Home").is_visible()

    assert (shown, theme, menu) == ("1", "dark", True)


async def test_a_live_part_changes_without_a_reload(tmp_path: Path) -> None:
    counter = Counter(tmp_path)

    async with opened(counter.app) as (page, address, said):
        await page.goto(address)
        await page.evaluate("window.untouched = true")
        for number in range(1, 4):
            counter.add()
            await page.locator("#count", has_text=str(number)).wait_for()
        untouched = await page.evaluate("window.untouched")

    assert untouched is True
    assert said == []


async def test_keys_and_the_palette_reach_what_the_page_offers(tmp_path: Path) -> None:
    counter = Counter(tmp_path)

    async with opened(counter.app) as (page, address, said):
        await page.goto(address)
        await page.keyboard.press("/")
        focused = await page.evaluate("document.activeElement.name")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Escape")
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("?")
        await page.get_by_role("dialog").get_by_text("Add one").wait_for()
        await page.keyboard.press("Escape")
        await page.keyboard.press("a")
        await page.get_by_text("Added.").wait_for()
        await page.keyboard.press("Control+k")
        await page.get_by_placeholder("Go somewhere").fill("add")
        await page.keyboard.press("Enter")
        await page.locator("#count", has_text="2").wait_for()

    assert focused == "q"
    assert counter.count == 2
    assert said == []


async def test_a_key_pressed_while_the_keys_close_is_not_lost(tmp_path: Path) -> None:
    """The focus stays in a closed dialog for a moment: what is typed then is meant for the page."""
    counter = Counter(tmp_path)

    async with opened(counter.app) as (page, address, _):
        await page.goto(address)
        await page.keyboard.press("?")
        await page.get_by_role("dialog").wait_for()
        await page.evaluate("""() => {
            const dialog = document.querySelector("dialog");
            dialog.close();
            dialog.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true}));
        }""")
        await page.get_by_text("Added.").wait_for()

    assert counter.count == 1


async def test_a_question_before_a_dangerous_button_can_be_denied(tmp_path: Path) -> None:
    counter = Counter(tmp_path)
    asked: list[str] = []

    async with opened(counter.app) as (page, address, _):
        await page.goto(address)

        async def deny(dialog: Any) -> None:
            asked.append(dialog.message)
            await dialog.dismiss()

        page.once("dialog", deny)
        await page.get_by_role("button", name="Ask").click()
        before = counter.count
        page.once("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Ask").click()
        await page.locator("#count", has_text="1").wait_for()

    assert (asked, before) == (["Sure?"], 0)
