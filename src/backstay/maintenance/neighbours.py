"""Takes over at once from workers of this machine whose process has died."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from backstay.errors import StoreError
from backstay.maintenance.rescuer import Rescuer
from backstay.model.events import Emit
from backstay.model.records import Neighbour
from backstay.runtime.env import Env
from backstay.stores.contract import Workers

LOOK_EVERY = 0.5
LOOK_AGAIN_AFTER = 3.0
"""A claim that was under way when its worker died may be stored a moment later."""
# Of the fields of /proc/<pid>/stat behind the state.
_STARTED_AT = 18


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What the system says of a process."""

    is_zombie: bool
    started: datetime


def process_facts(pid: int | str = "self") -> ProcessFacts | None:
    """What a process is like; None where the system does not say.

    Its start is counted from that of the machine, as if that had been in 1970: the clock on the wall may be set while
    the process runs, and the same start would have another date.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets, and may contain anything.
    state, *rest = told.rpartition(")")[2].split()
    ticks = int(rest[_STARTED_AT])
    return ProcessFacts(
        is_zombie=state in "ZX",
        started=datetime.fromtimestamp(ticks / os.sysconf("SC_CLK_TCK"), UTC),
    )


def process_is_gone(neighbour: Neighbour) -> bool:
    """Whether the neighbour's process has ended; its number may belong to another process by now."""
    try:
        os.kill(neighbour.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # It lives, and belongs to somebody else.
        pass
    facts = process_facts(neighbour.pid)
    if facts is None:
        return False
    return facts.is_zombie or neighbour.process_started not in (None, facts.started)


class Neighbours:
    """Looks twice a second whether the other workers of this machine live; that costs no query."""

    def __init__(
        self,
        workers: Workers,
        rescuer: Rescuer,
        *,
        emit: Emit,
        env: Env,
        is_gone: Callable[[Neighbour], bool] = process_is_gone,
    ) -> None:
        self._workers, self._rescuer, self._emit, self._env, self._is_gone = (
            workers,
            rescuer,
            emit,
            env,
            is_gone,
        )
        self._known: dict[str, Neighbour] = {}
        self._declared_dead: dict[str, float] = {}

    def know(self, neighbours: Sequence[Neighbour]) -> None:
        """Look after these from now on."""
        self._known = {neighbour.id: neighbour for neighbour in neighbours}

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self._env.sleep(LOOK_EVERY)
            try:
                await self.look()
            except StoreError as error:
                self._emit("store.failed", doing="take over from a neighbour", error=str(error))

    async def look(self) -> None:
        """Take over from every neighbour that is gone, and once more from those declared dead a moment ago."""
        for neighbour in [known for known in self._known.values() if self._is_gone(known)]:
            if await self._workers.declare_one_dead(neighbour.id):
                self._emit("worker.declared_dead", worker=neighbour.id, reason="its process is gone")
                self._declared_dead[neighbour.id] = self._env.monotonic()
                await self._rescuer.take_over(neighbour.id)
            self._known.pop(neighbour.id, None)
        for worker, declared_at in list(self._declared_dead.items()):
            if self._env.monotonic() - declared_at > LOOK_AGAIN_AFTER:
                await self._rescuer.take_over(worker)
                del self._declared_dead[worker]
