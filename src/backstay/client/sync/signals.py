"""The blocking twin of the signals, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.handle import JobHandle
from backstay.model.signals import Signal


class SyncSignals:
    """The signals of one application's jobs, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def send(
        self,
        job: JobHandle[Any] | UUID | str,
        name: str,
        payload: Any = None,
        *,
        key: str | None = None,
        by: str = "client",
    ) -> bool:
        """Send a job what its handler waits for, or will wait for: the payload is kept until it does.

        Signals of one name are received in the order in which they were sent. Sent again under the same `key`, a
        signal is there once; False tells that it was there already. Raises InvalidPayload for what JSON cannot hold,
        JobNotFound, and SignalRefused for a job that has ended.
        """
        return self._loop.run(
            lambda: self._app.signals.send(job, name, payload, key=key, by=by), name="sync.signals.send"
        )

    def of_job(self, job: JobHandle[Any] | UUID | str) -> list[Signal]:
        """What a job has received, in the order in which it came; raises JobNotFound."""
        return self._loop.run(lambda: self._app.signals.of_job(job), name="sync.signals.of_job")
