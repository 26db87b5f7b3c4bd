"""Every macro with hostile texts: they are shown as texts, wherever they stand."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from kit_app import BROWSER, browser, served
from kit_hostile import HOSTILE
from markupsafe import escape
from pydantic import Field

from backstay.kit import (
    Actor,
    Box,
    Choice,
    Crumb,
    Entry,
    NavItem,
    PageLinks,
    Pages,
    SigningKeys,
    StrictModel,
    StripCell,
    StripRow,
    Tab,
    add_api_reference,
    blank_form,
    not_found,
    problem_responses,
)

KEYS = SigningKeys("a secret of the tests with forty letters")
NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

EVERYTHING = """{% extends "kit/page.html" %}{% import "kit/macros.html" as ui with context %}
{% block lead %}<p>{{ t }}</p>{% endblock %}
{% block actions %}{{ ui.post_button(t, t, fields={t: t}, confirm=t, key=t, title=t) }}
{{ ui.link_button(t, t, key=t) }}{% endblock %}
{% block content %}"""
CONTENT = """
{{ ui.table([column("text", t, sort=True, link="text"), column("text", t, kind="badge"), column("text", t, kind="code"),
             column("number", t, kind="number", unit=t)], [{"text": t, "number": 1}], link="text", caption=t) }}
{% call(row) ui.table([column("text", t)], [{"text": t}], extra=t) %}{{ row.text }}{% endcall %}
{{ ui.table([], [], empty_text=t) }}{{ ui.badge(t, title=t) }}{{ ui.facts([(t, t)]) }}{{ ui.timeline([entry]) }}
{% call ui.tiles() %}{{ ui.tile(t, t, note=t, href=t, unit=t) }}{% endcall %}
{{ ui.notice(t, title=t) }}{{ ui.empty(t, hint=t) }}{% call ui.card(t, note=t, id=t) %}{{ t }}{% endcall %}
{{ ui.tabs([tab], label=t) }}{{ ui.chips(t, [(t, t, 1)], all_text=t) }}{{ ui.pager(links) }}{{ ui.search(t, t, t) }}
{{ ui.json({t: [t, 1]}, title=t) }}{{ ui.code(t, title=t) }}{{ ui.diff(t, t ~ "x", t, t) }}{{ ui.progress(0.5, t) }}
{% call ui.form(action=t, submit=t, cancel=t) %}{{ ui.field(t, t, value=t, help=t, error=t, placeholder=t, list=[t]) }}
{{ ui.area(t, t, value=t, help=t, error=t) }}{{ ui.select(t, t, [choice, t, (t, t)], value=t) }}
{{ ui.checkbox(t, t, value=t) }}
{{ ui.upload(t, t, accept=t) }}{{ ui.hidden(t, t) }}{% endcall %}
{{ ui.bars([(t, 1)], t) }}{{ ui.stacked([(t, {t: 1})], t) }}{{ ui.lines([t, t], {t: [1, 2], "b": [2, 1]}, t) }}
{{ ui.sparkline([1, 2], t) }}
{{ ui.strip([row], heads=[t], caption=t) }}{{ ui.boxes(t, 10, 10, [box], alt=t) }}
{% call ui.live(t, stream=t) %}{{ t }}{% endcall %}
"""
EVERYTHING += CONTENT + "{% endblock %}"


def application(folder: Path, templates: dict[str, str], **values: Any) -> FastAPI:
    """An application with one page for each template; with `?text=` all texts of its frame are that text."""
    for name, text in templates.items():
        (folder / f"{name}.html").write_text(text)
    nav = [NavItem("Everything", "/everything")]
    pages = Pages("Kit", KEYS, nav=nav, templates=folder, now=lambda: NOW)
    web = pages.router()

    @web.get("/{name}")
    async def page(request: Request, name: str, text: str = "harmless") -> Response:
        if name not in templates:
            raise not_found()
        request.state.actor = Actor(text, tenant=text, roles=frozenset({text}))
        pages.title = pages.footer = text
        pages.nav = [*nav, NavItem(text, text, group=text, key=text)]
        crumbs = [Crumb(text, text), Crumb(text)]
        shown = {**everything(text), **values}
        return pages.render(request, f"{name}.html", title=text, crumbs=crumbs, **shown)

    app = FastAPI()
    pages.install(app)
    app.include_router(web)
    return app


def everything(text: str) -> dict[str, Any]:
    return {
        "t": text,
        "entry": Entry(text, NOW, text, "bad", text, text),
        "tab": Tab(text, text, True, 1),
        "links": PageLinks(text, text, 1),
        "choice": Choice(text, text),
        "row": StripRow(text, [StripCell(text, text, text), StripCell(text, text)], text),
        "box": Box(1, 1, 2, 2, text, "good", text, text),
    }


class Tags(HTMLParser):
    """Collects the tags of a page, with the attributes that could act."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.acting: list[tuple[str, str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            scheme = re.sub(r"[\x00-\x20]", "", value or "").lower()
            if (
                name.startswith("on")
                or name == "style"
                or (
                    name in {"href", "src", "action"}
                    and scheme.startswith(("javascript:", "data:", "vbscript:"))
                )
            ):
                self.acting.append((tag, name, value or ""))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    return tags


async def test_hostile_texts_change_no_tag_of_any_macro(tmp_path: Path) -> None:
    app = application(tmp_path, {"everything": EVERYTHING})
    async with browser(app) as client:
        harmless = read((await client.get("/everything", params={"text": "harmless"})).text)
        pages = {text: (await client.get("/everything", params={"text": text})).text for text in HOSTILE}

    parsed = {text: read(page) for text, page in pages.items()}
    changed = {
        text: found.acting for text, found in parsed.items() if found.tags != harmless.tags or found.acting
    }
    hidden = [text for text, page in pages.items() if str(escape(text)) not in page]
    assert len(pages) >= 50
    assert changed == {}
    assert hidden == []


async def test_a_page_has_one_heading_labels_and_no_outside_address(tmp_path: Path) -> None:
    async with browser(application(tmp_path, {"everything": EVERYTHING})) as client:
        page = (await client.get("/everything")).text

    tags = read(page)
    fields = set(re.findall(r'<(?:input|select|textarea) id="([^"]+)"', page))
    assert tags.tags.count("h1") == 1
    assert tags.tags.count("main") == 1
    assert fields <= set(re.findall(r'<label for="([^"]+)"', page))
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page)
    assert '<html lang="en"' in page


TABLE = """{% extends "kit/page.html" %}{% import "kit/macros.html" as ui with context %}
{% block content %}{{ ui.table([column("name", "Name", sort=True), column("mass", "Mass", kind="number", unit="kg"),
  column("at", "At", kind="time"), column("took", "Took", kind="duration"), column("none", "None")],
  rows, link="href") }}
{{ ui.pager(links) }}{{ ui.chips("state", [("Dead", "dead", 3)]) }}{% endblock %}"""
ROWS = [
    {"name": "a", "href": "/x/a", "mass": 1234.5, "at": NOW - timedelta(hours=3), "took": 0.25},
    {"name": "b", "href": "/x/b", "mass": None, "at": None, "took": None},
]


async def table_page(folder: Path, query: str = "", mount: str = "") -> str:
    inner = application(folder, {"table": TABLE}, rows=ROWS, links=PageLinks(next="n&x", shown=2))
    app = FastAPI()
    app.mount(mount or "/", inner)
    async with browser(app) as client:
        return (await client.get(f"{mount}/table{query}")).text


async def test_a_table_shows_units_times_in_words_and_dashes_for_nothing(tmp_path: Path) -> None:
    page = (
        (await table_page(tmp_path))
        .replace("\N{NARROW NO-BREAK SPACE}", " ")
        .replace("\N{NO-BREAK SPACE}", " ")
    )

    assert '1 234.5 <span class="unit">kg</span>' in page
    assert (
        '<time datetime="2026-03-01T06:30:00+00:00" title="2026-03-01 06:30:00 UTC">3 hours ago</time>'
        in page
    )
    assert "250 ms" in page
    assert page.count('<span class="absent">–</span>') == 5
    assert '<a href="/x/a" class="row-link">' in page


async def test_sort_links_turn_round_and_drop_the_cursor(tmp_path: Path) -> None:
    fresh = await table_page(tmp_path, "?state=dead&cursor=c")
    rising = await table_page(tmp_path, "?sort=name&order=asc")
    falling = await table_page(tmp_path, "?sort=name&order=desc")

    assert 'href="/table?state=dead&amp;sort=name&amp;order=asc"' in fresh
    assert 'aria-sort="ascending"' in rising
    assert 'href="/table?sort=name&amp;order=desc"' in rising
    assert 'aria-sort="descending"' in falling
    assert 'href="/table?sort=name&amp;order=asc"' in falling


async def test_pager_and_chips_keep_the_rest_of_the_address(tmp_path: Path) -> None:
    page = await table_page(tmp_path, "?state=dead&q=x")

    assert 'rel="next" href="/table?state=dead&amp;q=x&amp;cursor=n%26x"' in page
    assert 'href="/table?q=x">All' in page
    assert 'href="/table?q=x&amp;state=dead" aria-current="true">Dead' in page


async def test_a_mounted_application_keeps_its_links_below_its_path(tmp_path: Path) -> None:
    page = await table_page(tmp_path, mount="/jobs")

    hrefs = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
    assert hrefs
    assert [href for href in hrefs if not href.startswith("/jobs/")] == []


async def test_the_stylesheet_of_a_mounted_application_is_found(tmp_path: Path) -> None:
    app = FastAPI()
    app.mount("/jobs", application(tmp_path, {"table": TABLE}, rows=[], links=PageLinks()))
    async with served(app) as address, httpx.AsyncClient(base_url=address, headers=BROWSER) as client:
        page = (await client.get("/jobs/table")).text
        assets = re.findall(r'(?:href|src)="([^"]*/_kit/[^"]*)"', page)
        answers = [await client.get(html.unescape(asset)) for asset in assets]

    assert len(assets) == 3
    assert {answer.status_code for answer in answers} == {200}
    assert "Nothing here yet." in page


def test_a_form_that_nobody_sent_is_filled_with_what_is_given() -> None:
    form = blank_form(mass=12, note=None)

    assert (form.text("mass"), form.text("note"), form.error("mass")) == ("12", "", "")
    assert form.with_error("mass", "Too heavy.").error("mass") == "Too heavy."


async def test_a_missing_value_is_an_error_and_not_an_empty_text(tmp_path: Path) -> None:
    app = application(
        tmp_path, {"page": '{% extends "kit/page.html" %}{% block content %}{{ typo }}{% endblock %}'}
    )

    async with browser(app) as client:
        answer = await client.get("/page")

    assert answer.status_code == 500


@pytest.mark.parametrize(
    ("path", "current"), [("/everything", "Everything"), ("/everything/below", "Everything")]
)
async def test_the_navigation_marks_where_you_are(tmp_path: Path, path: str, current: str) -> None:
    app = application(tmp_path, {"everything": EVERYTHING})

    async with browser(app) as client:
        page = (await client.get(path)).text

    assert f'href="/everything" aria-current="page" data-command>{current}' in page


class NewBattery(StrictModel):
    serial: str = Field(description="As printed <b>on</b> the case")
    made_at: datetime | None = None
    tags: list[int] = Field(default_factory=list)


async def test_the_api_is_described_on_a_page_without_outside_scripts(tmp_path: Path) -> None:
    pages = Pages("Register", KEYS)
    app = FastAPI(docs_url=None, redoc_url=None)
    pages.install(app)

    @app.post("/api/batteries/{place}", tags=["batteries"], responses=problem_responses(404))
    async def create(place: str, body: NewBattery, dry: bool = False) -> None:
        """Add a <script>battery</script>."""

    add_api_reference(pages, app)
    async with browser(app) as client:
        page = (await client.get("/api-reference")).text

    assert "<code>/api/batteries/{place}</code>" in page
    assert "Add a &lt;script&gt;battery&lt;/script&gt;." in page
    assert "As printed &lt;b&gt;on&lt;/b&gt; the case" in page
    assert "string (date-time) or null" in page
    assert "list of integer" in page
    assert "404 Not Found" in page
    assert page.count("<script") == 1


class Dependency(StrictModel):
    """A body one of whose fields has the name that schemas use for themselves."""

    type: str
    number: int


def test_a_field_may_be_called_type() -> None:
    assert Dependency.model_validate({"type": "data", "number": 1}).type == "data"

    with pytest.raises(ValueError, match="number"):
        Dependency.model_validate({"type": "data", "number": "1"})
