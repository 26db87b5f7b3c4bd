"""One worker process of `bench.many_workers`; its URLs come from the environment."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import Any

from backstay import Backstay
from backstay.model.events import silent

KINDS = ("one", "two", "three", "four")
PLAIN, SHARED, SHARE = "plain", "shared", "share"
CONCURRENCY = 5


def application(url: str, dispatch: str | None) -> tuple[Backstay, dict[str, Any]]:
    """An application and its handlers by kind, which do nothing: four in one queue, one where tenants take turns."""
    app = Backstay(url, emit=silent, settings={"dispatch": dispatch} if dispatch else {})
    app.queue(SHARED, fair=True)

    async def nothing(number: int) -> None:
        """Leave the time to the queue."""

    queues = {**dict.fromkeys(KINDS, PLAIN), SHARE: SHARED}
    return app, {kind: app.job(queue=queue, kind=kind)(nothing) for kind, queue in queues.items()}


def leave_with_the_bench() -> None:
    """End when standard input does, however the process that holds the other end has ended."""
    sys.stdin.read()
    os._exit(1)


async def work() -> None:
    """Work until SIGTERM."""
    threading.Thread(target=leave_with_the_bench, daemon=True).start()
    app, _ = application(os.environ["BENCH_URL"], os.environ.get("BENCH_DISPATCH"))
    worker = app.worker(concurrency=CONCURRENCY)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.run()


if __name__ == "__main__":
    asyncio.run(work())
