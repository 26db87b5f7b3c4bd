"""How is a page opened in a real browser that talks to this machine only?"""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from backstay_parts.optional import MissingPart, need

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_LOCAL = {"127.0.0.1", "localhost", "::1", ""}


@dataclass(slots=True)
class Visit:
    """A browser with one page, and what went wrong on it."""

    page: Any
    """Playwright's asynchronous Page."""
    folder: Path
    complaints: list[str] = field(default_factory=list)
    """Errors of scripts, error lines of the console, requests to other machines (which are blocked)."""

    async def screenshot(self, name: str, *, is_full: bool = True) -> Path:
        """Save a picture of the page as `name`.png and return its place."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.png"
        await self.page.screenshot(path=str(path), full_page=is_full, animations="disabled")
        return path


@asynccontextmanager
async def open_chromium(
    *, screenshots: Path, width: int = 1280, height: int = 900, **context_options: Any
) -> AsyncIterator[Visit]:
    """Open a browser with one page; traffic to other machines is blocked and noted.

    Further options go to Playwright's `new_context` (`color_scheme="dark"`, `locale=…`, `java_script_enabled=…`).
    """
    playwright = need("playwright.async_api", extra="browser")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=find_chromium(), args=_ARGUMENTS)
        try:
            context = await browser.new_context(
                viewport={"width": width, "height": height}, **context_options
            )
            visit = Visit(await context.new_page(), screenshots)
            await _watch(context, visit)
            yield visit
        finally:
            await browser.close()


def find_chromium() -> str:
    """The browser's program: BACKSTAY_CHROMIUM, or the system's; raises `MissingPart` with the command."""
    named = os.environ.get("BACKSTAY_CHROMIUM")
    found = (
        named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    )
    if found is None:
        raise MissingPart(
            "Chromium",
            advice="run: python -m backstay_parts.browser (installs Debian's package), or set BACKSTAY_CHROMIUM",
        )
    return found


def install_chromium() -> str:
    """Install Debian's package where Chromium is missing, say so, and return the program's place."""
    try:
        return find_chromium()
    except MissingPart:
        sys.stdout.write("Chromium is missing: installing Debian's package chromium\n")
        sys.stdout.flush()
    apt = shutil.which("apt-get")
    if apt is None:
        raise MissingPart(
            "Chromium", advice="install it with your system's package manager and set BACKSTAY_CHROMIUM"
        )
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([apt, "install", "-y", "-q", "--no-install-recommends", "chromium"], check=True, env=env)  # noqa: S603 -- fixed words
    return find_chromium()


async def _watch(context: Any, visit: Visit) -> None:
    async def check(route: Any) -> None:
        if (urlsplit(route.request.url).hostname or "") in _LOCAL:
            await route.continue_()
            return
        visit.complaints.append(f"request to another machine: {route.request.url}")
        await route.abort()

    await context.route("**/*", check)
    visit.page.on("pageerror", lambda error: visit.complaints.append(f"script: {error}"))
    visit.page.on(
        "console",
        lambda line: visit.complaints.append(f"console: {line.text}") if line.type == "error" else None,
    )
