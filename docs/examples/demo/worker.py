"""One worker process of the shop: `python worker.py`. Run as many as you like."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

from app import app

from backstay import configure_logging


async def main() -> None:
    configure_logging(json=True)
    worker = app.worker(concurrency=4, worker_id=os.environ.get("SHOP_WORKER"))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, worker.stop)
    # Whoever started us holds the other end of our input: when they are gone, we leave as well.
    threading.Thread(target=lambda: (sys.stdin.read(), worker.stop()), daemon=True).start()
    await worker.run()


if __name__ == "__main__":
    asyncio.run(main())
