"""A worker process: which kinds and queues it reads, and its limit of memory."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import psutil

from backstay import Worker
from backstay_aeon import job_types
from backstay_aeon.actions import watch
from backstay_aeon.domain.errors import BadSettings
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
    """The kinds and queues of a worker; a priority worker reads the urgent queues alone.

    Each of them does the service's own work, too: a fleet without general workers needs it as well.
    """
    kinds = asked_kinds(settings)
    plain = sorted({job_types.known()[kind].queue for kind in kinds})
    urgent = [f"{queue}.urgent" for queue in plain]
    # Urgent jobs, too, and before the others: where it works alone they would wait forever.
    queues = urgent if settings.type == "priority" else [*urgent, *plain]
    return [*kinds, *OWN_KINDS], [*queues, QUEUE]


def asked_kinds(settings: WorkerSettings) -> list[str]:
    """The job types that the variables ask for; a misspelt one is refused, for it would read all or nothing."""
    known = job_types.known()
    if settings.type not in TYPES:
        raise BadSettings(f"WORKER_TYPE={settings.type!r} is none of {', '.join(TYPES)}")
    asked = settings.job_types if settings.job_types != ("*",) else TYPES[settings.type]
    unknown = sorted(set(asked) - {"*", *known})
    if unknown:
        raise BadSettings(f"JOB_TYPES names {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    return sorted(known) if "*" in asked else list(asked)


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
    beside = [
        asyncio.create_task(watch_memory(services, worker, grown)),
        asyncio.create_task(watch.keep_watching(services)),
    ]
    try:
        await worker.run()
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await services.close()
    return grown.is_set()


async def watch_memory(services: Services, worker: Worker, grown: asyncio.Event) -> None:
    """Stop a worker that has grown too large: it finishes what it has, and a new one takes its place."""
    settings, process = services.settings.worker, psutil.Process()
    while True:
        if process.memory_info().rss // 1_048_576 > settings.memory_limit_mb:
            grown.set()
            worker.stop()
        await asyncio.sleep(settings.health_check_ms / 1000)


def main() -> None:
    """Run a worker; one that has grown too large starts anew in its place."""
    if not here().settings.worker.is_enabled:
        sys.stdout.write("no worker was started: WORKER_ENABLED=false\n")
        return
    if asyncio.run(run()):
        os.execv(sys.executable, [sys.executable, "-m", "backstay_aeon", "worker"])  # noqa: S606 - ourselves again
