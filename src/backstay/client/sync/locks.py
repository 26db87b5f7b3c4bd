"""The blocking twin of the locks, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.schedules.records import Lock
from backstay.model.text.durations import Duration


class SyncLocks:
    """The locks of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def acquire(self, lock_id: str, *, ttl: Duration, holder: str, tenant: str = "") -> Lock | None:
        """Take a lock that is free or has run out; None when somebody else holds it.

        The same holder gets it again, for another `ttl`.
        """
        return self._loop.run(
            lambda: self._app.locks.acquire(lock_id, ttl=ttl, holder=holder, tenant=tenant),
            name="sync.locks.acquire",
        )

    def extend(self, lock: Lock, *, ttl: Duration) -> bool:
        """Hold a lock for this long from now; False when it is no longer held."""
        return self._loop.run(lambda: self._app.locks.extend(lock, ttl=ttl), name="sync.locks.extend")

    def release(self, lock: Lock) -> bool:
        """Give a lock up; False when it is no longer held."""
        return self._loop.run(lambda: self._app.locks.release(lock), name="sync.locks.release")

    def break_lock(self, lock_id: str, *, reason: str, by: str = "client", tenant: str = "") -> bool:
        """Take a lock away from its holder; False when nobody does. Its holder is not stopped by this."""
        return self._loop.run(
            lambda: self._app.locks.break_lock(lock_id, reason=reason, by=by, tenant=tenant),
            name="sync.locks.break_lock",
        )

    def get(self, lock_id: str, *, tenant: str = "") -> Lock | None:
        """The lock, if somebody holds it."""
        return self._loop.run(lambda: self._app.locks.get(lock_id, tenant=tenant), name="sync.locks.get")

    def all(self, *, tenant: str | None = None, limit: int = 200) -> list[Lock]:
        """Locks that are held, the next to run out first."""
        return self._loop.run(lambda: self._app.locks.all(tenant=tenant, limit=limit), name="sync.locks.all")
