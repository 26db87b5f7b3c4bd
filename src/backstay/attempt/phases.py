"""A part of a handler with a time limit of its own, named in what it fails with."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from backstay.errors import InvalidSettings
from backstay.model.text.durations import Duration, duration

if TYPE_CHECKING:
    from backstay.attempt.backend import AttemptBackend


class Phase:
    """Ends its block when the time is over; whatever goes wrong inside is told with the phase's name."""

    def __init__(self, backend: AttemptBackend, name: str, timeout: Duration) -> None:
        self._backend, self._name = backend, name
        self._length = duration(timeout, field="timeout")

    async def __aenter__(self) -> None:
        self._limit = asyncio.timeout(self._length.total_seconds())
        await self._limit.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self._backend.note({"phase": self._name})
        try:
            await self._limit.__aexit__(kind, error, traceback)
        except TimeoutError as over:
            seconds = self._length.total_seconds()
            raise TimeoutError(
                f"the phase {self._name!r} did not finish within its time limit of {seconds:g} s"
            ) from over

    def __enter__(self) -> NoReturn:
        raise InvalidSettings(
            f"the phase {self._name!r} needs 'async with': what blocks a thread cannot be interrupted; "
            'a handler that is not async can have runs_in="process" and a timeout for all of it'
        )

    def __exit__(self, *what: object) -> None: ...
