"""Runs `backstay worker` several times, under a supervisor."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from backstay.cli.working import Chosen, send_logs, tell_stopping
from backstay.errors import InvalidSettings

if TYPE_CHECKING:
    import asyncio

    from backstay.supervisor.health import Health
    from backstay.supervisor.rules import Limits
    from backstay.supervisor.supervisor import Supervisor


@dataclass(frozen=True, kw_only=True)
class SuperviseOptions:
    """What was asked of the supervisor."""

    processes: int | None = None
    max_jobs: int | None = None
    max_memory: str | None = None
    health: Path | None = None


DEFAULT_OPTIONS = SuperviseOptions()


def supervise(chosen: Chosen, options: SuperviseOptions) -> int:
    """Keep such workers running until a signal comes; returns the exit code."""
    import asyncio

    from backstay.model.text.sizes import megabytes
    from backstay.supervisor.health import Health
    from backstay.supervisor.rules import Limits

    if chosen.until_empty:
        raise InvalidSettings(
            "--until-empty goes with a single process: a supervisor would start another in its place"
        )
    send_logs(chosen)
    memory = None if options.max_memory is None else megabytes(options.max_memory, field="--max-memory")
    limits, health = Limits(options.max_jobs, memory), Health(options.health)

    async def run() -> int:
        supervisor = _supervisor(chosen, options.processes or 1, limits, health)
        _stop_on_signals(supervisor, asyncio.get_running_loop())
        return await supervisor.run()

    return asyncio.run(run())


def _supervisor(chosen: Chosen, processes: int, limits: Limits, health: Health) -> Supervisor:
    from functools import partial

    from backstay.composition.make_worker import take_over
    from backstay.runtime.env import SYSTEM
    from backstay.settings.logs import log_event
    from backstay.supervisor.supervisor import Supervisor

    return Supervisor(
        lambda number, descriptor: replace(chosen, supervised=f"{descriptor}:{number}").command(),
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
        supervisor.stop()
        tell_stopping()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
