"""A worker of one release of a program: `python release_program.py URL old|new`, until SIGTERM.

The new release's handler takes an argument that the old one's does not know.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from backstay import Backstay


def application(url: str, release: str) -> Backstay:
    """The application under test, in one of its releases."""
    app = Backstay(url, settings={"tick": "500ms", "leader_lease": "2s"})
    if release == "old":

        @app.job(kind="report")
        async def old_report(month: int) -> str:
            return "old"
    else:

        @app.job(kind="report")
        async def new_report(month: int, colour: str = "red") -> str:
            return "new"

    return app


async def main(url: str, release: str) -> None:
    """Work until told to stop."""
    app = application(url, release)
    worker = app.worker(shutdown_grace="2s")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.run()
    await app.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
