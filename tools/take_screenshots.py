"""Takes the pictures of the dashboard that the documentation shows: `make screenshots`.

It starts docs/examples/dashboard_shop.py, opens its pages in Chromium and saves them to docs/pictures, made small.
Every page is also taken whole, on a phone and in the dark, to build/pictures: for whoever changes how pages look.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from backstay_parts.browser import Visit, install_chromium, open_chromium

ROOT = Path(__file__).resolve().parents[1]
SHOP = ROOT / "docs" / "examples" / "dashboard_shop.py"
PICTURES = ROOT / "docs" / "pictures"
OTHERS = ROOT / "build" / "pictures"
LARGEST = 150_000
PATIENCE = 120_000
"""Milliseconds that a page may take on a busy machine."""
SETTLING = 12.0
"""Seconds until the shop's jobs have ended, failed or made some progress."""

PAGES = {
    "home": "/",
    "jobs": "/jobs",
    "new-job": "/jobs/new",
    "failures": "/failures",
    "dead-letters": "/dead-letters",
    "queues": "/queues",
    "queue": "/queues/payments",
    "schedules": "/schedules",
    "schedule": "/schedules/refresh_stock",
    "workers": "/workers",
    "flows": "/flows",
    "operations": "/operations",
    "tenants": "/tenants",
    "audit": "/audit",
    "alerts": "/alerts",
    "system": "/system",
}
FIRST_OF = {
    "job": ("/jobs?kind=sales_report", "table.jobs a"),
    "dead-job": ("/jobs?state=dead&kind=charge_card", "table.jobs a"),
    "flow": ("/flows", "td.name a"),
    "worker": ("/workers", "td.name a"),
}
"""Pages that are reached by the first link of another."""
SHOWN_OF_OTHERS = ("home-phone", "home-dark")
"""Pictures that the documentation shows besides the wide ones."""
WIDE = {"width": 1280, "height": 960}
LOOKS: dict[str, dict[str, Any]] = {
    "phone": {"width": 390, "height": 844},
    "dark": {**WIDE, "color_scheme": "dark"},
}


def main() -> None:
    """Start the shop, take every picture, end the shop."""
    install_chromium()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/shop.db"
        shop = subprocess.Popen(
            [sys.executable, "-u", str(SHOP), "--serve"],
            env={**os.environ, "BACKSTAY_URL": url},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert shop.stdout is not None
            found = next(re.search(r"http\S+", line) for line in shop.stdout if "http" in line)
            assert found
            asyncio.run(take_all(found[0]))
        finally:
            shop.terminate()
            shop.wait()


async def take_all(link: str) -> None:
    """Take every page wide for the documentation, and again in the other looks."""
    await asyncio.sleep(SETTLING)
    address = link.partition("/enter")[0]
    async with open_chromium(screenshots=PICTURES, **WIDE) as visit:
        await enter(visit, link)
        places = await addresses(visit, address)
        for name, place in places.items():
            await visit.page.goto(place)
            await take(visit, name)
    for look, options in LOOKS.items():
        async with open_chromium(screenshots=OTHERS, **options) as visit:
            await enter(visit, link)
            for name, place in places.items():
                await visit.page.goto(place)
                await visit.screenshot(f"{name}-{look}")
    for name in SHOWN_OF_OTHERS:
        page, _, look = name.rpartition("-")
        async with open_chromium(screenshots=PICTURES, **LOOKS[look]) as visit:
            await enter(visit, link)
            await visit.page.goto(places[page])
            await take(visit, name)


async def enter(visit: Visit, link: str) -> None:
    """Open the link that lets in."""
    visit.page.set_default_timeout(PATIENCE)
    await visit.page.goto(link)


async def addresses(visit: Visit, address: str) -> dict[str, str]:
    """Return where each page is; some are only known by a link to them."""
    places = {name: address + path for name, path in PAGES.items()}
    for name, (path, first) in FIRST_OF.items():
        await visit.page.goto(address + path)
        places[name] = address + str(await visit.page.locator(first).first.get_attribute("href"))
    return places


async def take(visit: Visit, name: str) -> None:
    """Save what is on the screen with few colours, so that it stays small."""
    path = await visit.screenshot(f"dashboard-{name}", is_full=False)
    Image.open(path).convert("RGB").quantize(200).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size:,} bytes")
    assert size <= LARGEST, f"{path.name} is larger than {LARGEST:,} bytes"


if __name__ == "__main__":
    main()
