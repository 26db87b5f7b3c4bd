"""The demo behind `make demo`: a shop's jobs on two workers, one of which is killed on the way.

It needs nothing but Backstay and ends by itself after about 20 seconds; in a terminal, where the extra `http` is
installed, it leaves the dashboard open until a key is pressed. The exit code is 0 only if every job
reached its end, none was completed twice, and the journal of the handlers says the same.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from backstay import Backstay


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a shop's jobs on two workers and kill one of them.")
    parser.add_argument("--folder", type=Path, help="where database and files go, and stay afterwards")
    parser.add_argument("--picture", type=Path, help="save the view as an SVG after the rescue")
    asked = parser.parse_args()
    if asked.folder is not None:
        return play(asked.folder.absolute(), asked.picture)
    with tempfile.TemporaryDirectory(prefix="backstay-demo-") as folder:
        return play(Path(folder), asked.picture)


def play(folder: Path, picture: Path | None) -> int:
    os.environ["BACKSTAY_URL"] = f"sqlite:///{folder / 'shop.db'}"
    os.environ["SHOP_FOLDER"] = str(folder)
    # Only now, because the application reads both when it is imported; the workers inherit them.
    from app import app
    from look import Dashboard
    from story import Story

    console = Console()
    try:
        asyncio.run(prepare(app))
        with Dashboard(console, app.url) as dashboard:
            holds = asyncio.run(Story(console, picture).tell())
            dashboard.stay()
        return 0 if holds else 1
    except KeyboardInterrupt:
        Console().print("Stopped; the workers are gone and nothing is left behind.")
        return 130


async def prepare(app: Backstay) -> None:
    """Make the tables, so that the dashboard has something to look at from the first moment."""
    await app.migrate()
    await app.close()


if __name__ == "__main__":
    sys.exit(main())
