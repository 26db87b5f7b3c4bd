"""Runs `windlass worker` several times, under a supervisor."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from windlass.supervisor.health import Health
    from windlass.supervisor.rules import Limits
    from windlass.supervisor.supervisor import Supervisor

STOPPING = b"Stopping: running jobs may finish; a second signal stops at once.\n"


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What was asked of the supervisor."""

    processes: int | None = None
    max_jobs: int | None = None
    max_memory: str | None = None
    health: Path | None = None


NO_WISHES = Wishes()


def worker_command(application: str, options: Mapping[str, object]) -> list[str]:
    """The command of a worker with these options; True is an option without a value, None and False are left out."""
    given = [
        text
        for option, value in options.items()
        if value is not None and value is not False
        for text in ((option,) if value is True else (option, str(value)))
    ]
    warnings = [f"-W{option}" for option in sys.warnoptions]
    return [sys.executable, *warnings, "-m", "windlass", "worker", application, *given]


def supervise(command: Sequence[str], wishes: Wishes) -> int:
    """Keep such workers running until a signal comes; returns the exit code."""
    import asyncio

    from windlass.sizes import megabytes
    from windlass.supervisor.health import Health
    from windlass.supervisor.rules import Limits

    memory = None if wishes.max_memory is None else megabytes(wishes.max_memory, field="--max-memory")
    limits, health = Limits(wishes.max_jobs, memory), Health(wishes.health)

    async def run() -> int:
        supervisor = _supervisor(command, wishes.processes or 1, limits, health)
        _stop_on_signals(supervisor, asyncio.get_running_loop())
        return await supervisor.run()

    return asyncio.run(run())


def _supervisor(command: Sequence[str], processes: int, limits: Limits, health: Health) -> Supervisor:
    from functools import partial

    from windlass.assembly import take_over
    from windlass.env import SYSTEM
    from windlass.logs import log_event
    from windlass.supervisor.supervisor import Supervisor

    return Supervisor(
        lambda number, descriptor: [*command, "--supervised", f"{descriptor}:{number}"],
        processes=processes,
        limits=limits,
        health=health,
        take_over=partial(take_over, emit=log_event, env=SYSTEM),
        emit=log_event,
        env=SYSTEM,
    )


def _stop_on_signals(supervisor: Supervisor, loop: asyncio.AbstractEventLoop) -> None:
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        if len(received) > 1:
            supervisor.kill()
            os._exit(128 + number)
        os.write(2, STOPPING)
        supervisor.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
