"""The blocking twin of the dead letters, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.job import JobId
from backstay.model.records import BulkDecision, DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetterHour


class SyncDeadLetters:
    """The dead letters of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def open(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        fingerprint: str | None = None,
        owner: str | None = None,
        limit: int = 100,
    ) -> list[DeadLetter]:
        """Dead letters nobody has closed, newest first.

        `owner` is who looks into them, an empty text for those that nobody has taken yet.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.open(
                kind=kind, queue=queue, tenant=tenant, fingerprint=fingerprint, owner=owner, limit=limit
            ),
            name="sync.dead_letters.open",
        )

    def groups(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        limit: int = 100,
    ) -> list[DeadLetterGroup]:
        """Dead letters nobody has closed, by their cause, the most frequent first.

        Two deaths have the same cause when kind, class and type of the error, the place in your code and the
        message agree; numbers, ids, quoted texts and paths in the message do not count. Each cause is counted up to
        10,000 letters; where it `is_capped` there are more.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.groups(kind=kind, queue=queue, tenant=tenant, limit=limit),
            name="sync.dead_letters.groups",
        )

    def by_hour(
        self, last: timedelta | float | str = timedelta(days=1), *, tenant: str | None = None
    ) -> list[DeadLetterHour]:
        """How many letters that nobody has closed each cause has from each hour of the last while.

        Hours without one are left out. Of very many only the newest 10,000 are counted.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.by_hour(last, tenant=tenant), name="sync.dead_letters.by_hour"
        )

    def of_job(self, job_id: UUID | str) -> list[DeadLetter]:
        """Every death of one job, newest first."""
        return self._loop.run(lambda: self._app.dead_letters.of_job(job_id), name="sync.dead_letters.of_job")

    def arguments(self, job_id: UUID | str) -> list[dict[str, Any] | None]:
        """The arguments that a job died with each time, newest first, also where a retry has given it others."""
        return self._loop.run(
            lambda: self._app.dead_letters.arguments(job_id), name="sync.dead_letters.arguments"
        )

    def investigate(
        self, job_id: UUID | str, *, by: str, note: str | None = None, version: int | None = None
    ) -> int:
        """Say that somebody looks into a dead job; returns the version of its letter.

        The letter stays open, with an owner and a note; the next person who does the same takes it over.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.investigate(job_id, by=by, note=note, version=version),
            name="sync.dead_letters.investigate",
        )

    def retry(
        self,
        job_id: UUID | str,
        *,
        by: str,
        reason: str,
        delay: timedelta | float | str = 0,
        version: int | None = None,
        args: Mapping[str, Any] | None = None,
        as_new: bool = False,
    ) -> JobId:
        """Run a dead job again with a fresh budget of attempts; returns the id of the job that will run.

        It is the same job, whose history and fence go on, or with `as_new` a new one in its place, whose metadata
        has `retried_from`. Other `args` replace all arguments and are checked as for an enqueue. With the `version`
        of the letter that was read, raises DeadLetterChanged when somebody has changed it since.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.retry(
                job_id, by=by, reason=reason, delay=delay, version=version, args=args, as_new=as_new
            ),
            name="sync.dead_letters.retry",
        )

    def resolve(self, job_id: UUID | str, *, by: str, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because the matter is settled; `version` as for `retry`."""
        self._loop.run(
            lambda: self._app.dead_letters.resolve(job_id, by=by, reason=reason, version=version),
            name="sync.dead_letters.resolve",
        )

    def ignore(self, job_id: UUID | str, *, by: str, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because it does not matter; `version` as for `retry`."""
        self._loop.run(
            lambda: self._app.dead_letters.ignore(job_id, by=by, reason=reason, version=version),
            name="sync.dead_letters.ignore",
        )

    def count(self, filters: DeadLetterFilter) -> int:
        """How many open letters `retry_all` or `resolve_all` would be about."""
        return self._loop.run(lambda: self._app.dead_letters.count(filters), name="sync.dead_letters.count")

    def retry_all(
        self,
        filters: DeadLetterFilter,
        *,
        by: str,
        reason: str,
        delay: timedelta | float | str = 0,
        limit: int | None = None,
        pace: float | None = None,
    ) -> BulkDecision:
        """Retry every dead job the filter lets through, oldest first, at most `pace` a second.

        It works in chunks, each a transaction of its own: stopped in the middle, it goes on when called again.
        Jobs that somebody else decides meanwhile, or whose unique key is taken, are skipped.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.retry_all(
                filters, by=by, reason=reason, delay=delay, limit=limit, pace=pace
            ),
            name="sync.dead_letters.retry_all",
        )

    def resolve_all(
        self,
        filters: DeadLetterFilter,
        *,
        by: str,
        reason: str,
        limit: int | None = None,
        pace: float | None = None,
    ) -> BulkDecision:
        """Close every dead job the filter lets through without running it, in the way of `retry_all`."""
        return self._loop.run(
            lambda: self._app.dead_letters.resolve_all(filters, by=by, reason=reason, limit=limit, pace=pace),
            name="sync.dead_letters.resolve_all",
        )
