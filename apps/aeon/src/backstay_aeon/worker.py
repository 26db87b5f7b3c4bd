"""A worker process: which kinds and queues it reads, and its limit of memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

import psutil

from backstay import Worker
from backstay_aeon import job_types
from backstay_aeon.handlers.watching import OWN_KINDS, QUEUE
from backstay_aeon.services import Services, here
from backstay_aeon.settings import WorkerSettings

TYPES = {
    "general": ("*",),
    "data-import": ("data_import", "file_processing", "undo_import"),
    "reports": ("report_gen",),
    "priority": ("*",),
}


def reads(settings: WorkerSettings) -> tuple[list[str], list[str]]:
    """The kinds and queues of a worker; a priority worker reads the urgent queues alone."""
    known = job_types.known()
    asked = settings.job_types if settings.job_types != ("*",) else TYPES.get(settings.type, ("*",))
    kinds = sorted(known) if "*" in asked else [kind for kind in asked if kind in known]
    plain = sorted({known[kind].queue for kind in kinds})
    urgent = [f"{queue}.urgent" for queue in plain]
    if settings.type == "priority":
        return kinds, urgent
    if settings.type == "general" and "*" in asked:
        return [*kinds, *OWN_KINDS], [*plain, *urgent, QUEUE]
    # Its urgent jobs, too: where it works alone they would wait forever.
    return kinds, [*plain, *urgent]


async def run() -> bool:
    """Work until told to stop; True when the process is to start anew because of its memory."""
    services = here()
    settings = services.settings.worker
    kinds, queues = reads(settings)
    worker = services.app.worker(
        kinds=kinds,
        queues=queues,
        concurrency=settings.concurrency,
        worker_id=settings.id,
        worker_type=settings.type,
        shutdown_grace=settings.shutdown_ms / 1000,
        process_max_memory=f"{settings.memory_limit_mb}MB",
        poll_busy=settings.poll_ms / 1000,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    grown = asyncio.Event()
    watching = asyncio.create_task(watch_memory(services, worker, grown))
    try:
        await worker.run()
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        await services.close()
    return grown.is_set()


async def watch_memory(services: Services, worker: Worker, grown: asyncio.Event) -> None:
    """Stop a worker that has grown too large: it finishes what it has, and a new one takes its place."""
    settings, process = services.settings.worker, psutil.Process()
    while True:
        if process.memory_info().rss // 1_048_576 > settings.memory_limit_mb:
            grown.set()
            worker.stop()
        await asyncio.sleep(min(settings.health_check_ms / 1000, 1.0))


def main() -> None:
    """Run a worker; one that has grown too large starts anew in its place."""
    if asyncio.run(run()):
        os.execv(sys.executable, [sys.executable, "-m", "backstay_aeon", "worker"])  # noqa: S606 - ourselves again
