"""The blocking twin of the schedules, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Unpack

from backstay.client.schedules import BackFill
from backstay.client.scheduling import (
    Timing,
)
from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.handle import JobHandle
from backstay.handler import BoundHandler, Handler
from backstay.model.schedules.records import HistoryEntry
from backstay.model.schedules.schedule import Schedule


class SyncSchedules:
    """The schedules of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def create(
        self,
        name: str,
        job: Handler[..., Any] | BoundHandler[..., Any] | str,
        *,
        by: str = "client",
        **asked: Unpack[Timing],
    ) -> Schedule:
        """Create a schedule; exactly one of `cron`, `every` and `at` says when it fires.

        `job` is a handler, one with options, or the name of a kind; `args` may hold `{fire_time}` and `{fire_date}`.
        Raises InvalidSchedule, InvalidArguments, InvalidPolicy or UnknownKind, and then nothing is stored.
        """
        return self._loop.run(
            lambda: self._app.schedules.create(name, job, by=by, **asked), name="sync.schedules.create"
        )

    def get(self, name: str, *, tenant: str = "") -> Schedule:
        """One schedule as it is now; raises ScheduleNotFound."""
        return self._loop.run(lambda: self._app.schedules.get(name, tenant=tenant), name="sync.schedules.get")

    def all(
        self,
        *,
        tenant: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        limit: int = 1000,
    ) -> list[Schedule]:
        """Schedules by name; without a tenant, those of all of them."""
        return self._loop.run(
            lambda: self._app.schedules.all(tenant=tenant, kind=kind, name=name, limit=limit),
            name="sync.schedules.all",
        )

    def next_fires(self, name: str, count: int = 5, *, tenant: str = "") -> list[datetime]:
        """When it fires next, if nothing changes; empty while it is paused or when it is exhausted."""
        return self._loop.run(
            lambda: self._app.schedules.next_fires(name, count, tenant=tenant),
            name="sync.schedules.next_fires",
        )

    def preview(self, cron: str, *, zone: str = "UTC", count: int = 5) -> list[datetime]:
        """When an expression would fire, without storing anything; raises InvalidSchedule."""
        return self._loop.run(
            lambda: self._app.schedules.preview(cron, zone=zone, count=count), name="sync.schedules.preview"
        )

    def pause(self, name: str, *, reason: str, by: str = "client", tenant: str = "") -> None:
        """Let a schedule fire no more until it is resumed; a deploy does not undo it."""
        self._loop.run(
            lambda: self._app.schedules.pause(name, reason=reason, by=by, tenant=tenant),
            name="sync.schedules.pause",
        )

    def resume(self, name: str, *, by: str = "client", tenant: str = "") -> None:
        """Let a paused schedule fire again, from its next time on: what it has missed meanwhile stays out."""
        self._loop.run(
            lambda: self._app.schedules.resume(name, by=by, tenant=tenant), name="sync.schedules.resume"
        )

    def set(
        self, name: str, field: str, value: Any, *, reason: str, by: str = "client", tenant: str = ""
    ) -> Schedule:
        """Change one field of a schedule; a deploy keeps it, until `unset` lets the declaration count again.

        Raises InvalidSchedule or InvalidPolicy for what cannot be, and then nothing is stored.
        """
        return self._loop.run(
            lambda: self._app.schedules.set(name, field, value, reason=reason, by=by, tenant=tenant),
            name="sync.schedules.set",
        )

    def unset(self, name: str, field: str, *, by: str = "client", tenant: str = "") -> Schedule:
        """Let the declaration of a field count again."""
        return self._loop.run(
            lambda: self._app.schedules.unset(name, field, by=by, tenant=tenant), name="sync.schedules.unset"
        )

    def remove(self, name: str, *, reason: str, by: str = "client", tenant: str = "") -> None:
        """Remove a schedule and its history; jobs that it made stay. One in code comes back with the next worker."""
        self._loop.run(
            lambda: self._app.schedules.remove(name, reason=reason, by=by, tenant=tenant),
            name="sync.schedules.remove",
        )

    def run_now(
        self,
        name: str,
        *,
        reference_time: datetime | None = None,
        force: bool = False,
        by: str = "client",
        tenant: str = "",
    ) -> JobHandle[Any] | None:
        """Run it now, apart from its own times; `ctx.now` is the reference time. None if it would overlap.

        A reference time in the future raises InvalidSchedule, unless `force` is given.
        """
        return self._loop.run(
            lambda: self._app.schedules.run_now(
                name, reference_time=reference_time, force=force, by=by, tenant=tenant
            ),
            name="sync.schedules.run_now",
        )

    def preview_back_fill(
        self, name: str, first: datetime, last: datetime, *, most: int = 10000, tenant: str = ""
    ) -> BackFill:
        """What `back_fill` would do, without doing it."""
        return self._loop.run(
            lambda: self._app.schedules.preview_back_fill(name, first, last, most=most, tenant=tenant),
            name="sync.schedules.preview_back_fill",
        )

    def back_fill(
        self,
        name: str,
        first: datetime,
        last: datetime,
        *,
        most: int = 1000,
        by: str = "client",
        tenant: str = "",
    ) -> BackFill:
        """Make the jobs of all fires in a range, both ends included, but for those that have fired already.

        Raises InvalidSchedule, and makes none, if there are more than `most`.
        """
        return self._loop.run(
            lambda: self._app.schedules.back_fill(name, first, last, most=most, by=by, tenant=tenant),
            name="sync.schedules.back_fill",
        )

    def history(
        self, name: str, *, before: datetime | None = None, limit: int = 100, tenant: str = ""
    ) -> list[HistoryEntry]:
        """What became of a schedule's fires, newest first; `before` is a fire time, for the next page."""
        return self._loop.run(
            lambda: self._app.schedules.history(name, before=before, limit=limit, tenant=tenant),
            name="sync.schedules.history",
        )
