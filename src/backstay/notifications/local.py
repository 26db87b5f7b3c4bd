"""Channels that stay in the house: the application's own inbox, and the log."""

from __future__ import annotations

import logging
from typing import Protocol

from backstay.notifications.notification import Notification, Receipt, Severity

_LEVELS = {
    Severity.INFO: logging.INFO,
    Severity.WARNING: logging.WARNING,
    Severity.CRITICAL: logging.ERROR,
}


class InboxStore(Protocol):
    """Where an application keeps the messages of its users."""

    async def add_message(self, notification: Notification) -> str:
        """Store the notification for its recipient and return its id; the same key again returns the same id."""
        ...


class InAppChannel:
    """Puts notifications into the inbox that the application's pages show."""

    name = "in-app"

    def __init__(self, store: InboxStore) -> None:
        self._store = store

    async def send(self, notification: Notification) -> Receipt:
        """Store one notification."""
        return Receipt(self.name, await self._store.add_message(notification))


class LogChannel:
    """Writes that there was a notification: subject, severity and key; not the recipient, not the text."""

    name = "log"

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._log = logger or logging.getLogger("backstay.notifications")

    async def send(self, notification: Notification) -> Receipt:
        """Write one line."""
        self._log.log(
            _LEVELS[notification.severity],
            "notification: %s (key %s, tenant %s)",
            " ".join(notification.subject.split()),
            notification.key or "-",
            notification.tenant or "-",
        )
        return Receipt(self.name)
