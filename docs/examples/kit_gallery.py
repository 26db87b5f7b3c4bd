"""Every macro of the kit on one page, with texts that try to break out of it.

Run it with `python docs/examples/kit_gallery.py --serve` and open http://127.0.0.1:8001.
Without `--serve` it fetches its own pages and prints what it found.
"""

import asyncio
import math
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI, Request, Response

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
    StripCell,
    StripRow,
    Tab,
    blank_form,
)

HOSTILE = "<script>alert(1)</script>"
HOURS = [f"{hour:02}:00" for hour in range(24)]
STATES = ["completed", "running", "scheduled", "dead", "cancelled", "available", "held", "resolved"]
PAGE_IMAGE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 400">
<rect width="600" height="400" fill="#fff"/>
<g font-family="serif" font-size="20" fill="#222"><text x="40" y="60">Site permit EPR/AB1234CD</text>
<text x="40" y="120" font-size="16">2.1 The operator shall monitor emissions to air monthly.</text>
<text x="40" y="160" font-size="16">2.2 Records shall be kept for six years.</text></g></svg>"""


def rows(now: datetime) -> list[dict[str, object]]:
    kinds = ["compile_passport", "send_webhook", "import_rows", HOSTILE, "a_very_long_kind_name_" * 4]
    return [
        {
            "id": f"0193-{number:04}",
            "href": f"/jobs/{number}",
            "kind": kinds[number % 5],
            "state": STATES[number % 8],
            "took": timedelta(milliseconds=37 * 3**number),
            "size": 17 * 29**number % 9_000_000_000,
            "done": number / 7,
            "at": now - timedelta(minutes=7**number % 90_000),
        }
        for number in range(8)
    ]


def values(now: datetime) -> dict[str, object]:
    """What the gallery shows."""
    wave = [round(40 + 30 * math.sin(hour / 3)) for hour in range(24)]
    return {
        "rows": rows(now),
        "links": PageLinks(next="next", shown=8),
        "tabs": [Tab("Overview", "/", True), Tab("Attempts", "/attempts", count=3), Tab("Logs", "/logs")],
        "bars": list(zip(HOURS, wave, strict=True)),
        "stacked": [
            (hour, {"completed": each, "failed": each // 7}) for hour, each in zip(HOURS, wave, strict=True)
        ],
        "labels": HOURS,
        "series": {"p50": [each / 9 for each in wave], "p95": [each / 3 for each in wave]},
        "wave": wave,
        "strip": [
            StripRow(
                task,
                [
                    StripCell(STATES[(number * step) % 5] if number * step % 7 else "", f"{task} {number}:00")
                    for number in range(24)
                ],
                href="/tasks/x",
            )
            for step, task in enumerate(["poll forecasts", "verify billing", "send digests", HOSTILE], 1)
        ],
        "history": [
            Entry("Enqueued", now - timedelta(hours=3), who="ada"),
            Entry(
                "Attempt 1 failed",
                now - timedelta(hours=2),
                f"TimeoutError: no answer in 30 s {HOSTILE}",
                "bad",
            ),
            Entry("Completed", now - timedelta(minutes=5), tone="good", href="/jobs/1"),
        ],
        "boxes": [
            Box(35, 100, 480, 28, "2.1 monitoring", "warn", "#clause-1", "box-1"),
            Box(35, 140, 330, 28, "2.2 records", "good"),
        ],
        "before": {"serial": "A-1", "mass": 12.5, "tags": ["x"], "note": HOSTILE},
        "after": {"serial": "A-1", "mass": 13, "tags": ["x", "y"], "note": HOSTILE},
        "choices": [Choice("a", "First"), Choice("b", "Second")],
        "form": blank_form(serial="B-17").with_error("mass", "Enter a number."),
        "hostile": HOSTILE,
    }


def build() -> FastAPI:
    """Put the gallery together."""
    pages = Pages(
        "Backstay",
        SigningKeys("an example's secret: never use this one elsewhere"),
        nav=[
            NavItem("Is it well?", "/", key="g h"),
            NavItem("Jobs", "/jobs", group="Work", key="g j", count=1234),
            NavItem("Failures", "/failures", group="Work"),
            NavItem("Dead letters", "/dead", group="Work", count=3),
            NavItem("Queues", "/queues", group="Work"),
            NavItem("Workers", "/workers", group="Machines"),
            NavItem("Schedules", "/schedules", group="Machines"),
            NavItem("Audit", "/audit", group="Machines"),
        ],
        templates=Path(__file__).parent / "kit_templates",
        footer="Backstay 0.1.0",
    )
    web = pages.router()

    @web.get("/")
    async def gallery(request: Request) -> Response:
        request.state.actor = Actor("ada", tenant="north", roles=frozenset({"operator"}))
        return pages.render(
            request,
            "gallery.html",
            title="Is it well?",
            crumbs=[Crumb("Backstay", "/"), Crumb("Overview")],
            **values(datetime.now(UTC)),
        )

    @web.get("/page.svg")
    async def page_image() -> Response:
        return Response(PAGE_IMAGE, media_type="image/svg+xml")

    app = FastAPI(docs_url=None, redoc_url=None)
    pages.install(app)
    app.include_router(web)
    return app


async def look(app: FastAPI) -> None:
    """Fetch the page and say whether the hostile text stayed a text."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as browser:
        page = (await browser.get("/", headers={"Accept": "text/html"})).text
        lost = await browser.get("/nowhere", headers={"Accept": "text/html"})
    print("hostile texts that became tags:", page.count(HOSTILE))
    print("hostile texts shown:", page.count("&lt;script&gt;") > 5)
    print("an unknown page:", lost.status_code)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        uvicorn.run(build(), host="127.0.0.1", port=8001)
    else:
        asyncio.run(look(build()))
