"""A year at Brindle Foods, told in minutes, with its sums checked."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

from backstay_oblicore.demo import chapters, proofs
from backstay_oblicore.demo.stage import Stage
from backstay_oblicore.demo.year import year
from backstay_parts.demo import Demo, run_demo

COLUMNS = ["chapter", "state", "figures"]


def run(argv: list[str]) -> int:
    """Run the demonstration; 0 only if every sum held. With --keep the pages stay open until Ctrl-C."""
    stage = Stage()
    is_kept = "--keep" in argv

    async def story(demo: Demo) -> None:
        logging.basicConfig(filename=demo.folder / "demo.log", level=logging.WARNING, force=True)
        try:
            await stage.open(demo)
            await tell(stage)
        finally:
            if not is_kept:
                await stage.close()

    async def serve(_: Demo) -> None:
        async with stage.services.app.working(concurrency=3):
            await _interrupted()
        await stage.close()

    return run_demo("A year at Brindle Foods", COLUMNS, story, argv=argv, serve_until=serve)


async def tell(stage: Stage) -> None:
    """Tell the chapters in order."""
    permit = await chapters.documents(stage)
    await chapters.imported(stage)
    await year(stage)
    await proofs.reports(stage)
    await proofs.packs(stage, permit)
    await proofs.letter(stage)
    stage.demo.link("pages", stage.services.settings.public_url)


async def _interrupted() -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    sys.stdout.write("the pages stay open until Ctrl-C\n")
    sys.stdout.flush()
    await ended.wait()
