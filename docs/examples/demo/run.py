"""The demo behind `make demo`: a shop's jobs on two workers, one of which is killed on the way.

It needs nothing but Windlass and ends by itself after about 20 seconds. The exit code is 0 only if every job
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


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a shop's jobs on two workers and kill one of them.")
    parser.add_argument("--folder", type=Path, help="where database and files go, and stay afterwards")
    parser.add_argument("--picture", type=Path, help="save the view as an SVG after the rescue")
    asked = parser.parse_args()
    if asked.folder is not None:
        return play(asked.folder.absolute(), asked.picture)
    with tempfile.TemporaryDirectory(prefix="windlass-demo-") as folder:
        return play(Path(folder), asked.picture)


def play(folder: Path, picture: Path | None) -> int:
    os.environ["WINDLASS_URL"] = f"sqlite:///{folder / 'shop.db'}"
    os.environ["SHOP_FOLDER"] = str(folder)
    # Only now, because the application reads both when it is imported; the workers inherit them.
    from story import Story

    try:
        return 0 if asyncio.run(Story(Console(), picture).tell()) else 1
    except KeyboardInterrupt:
        Console().print("Stopped; the workers are gone and nothing is left behind.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
