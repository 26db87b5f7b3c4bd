"""A notification and the channels that carry it: values and the one protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

LONGEST_SUBJECT = 500


class Severity(StrEnum):
    """How much it matters to the one who is told."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True)
class Attachment:
    """A file that goes with an e-mail."""

    name: str
    content: bytes
    content_type: str = "application/octet-stream"


@dataclass(frozen=True)
class Notification:
    """What somebody is to be told.

    `recipient` is what the channel calls an address: an e-mail address, a phone number, a URL, a user's id.
    `key` names the notification: a channel that can keeps a second one with the same key from being shown twice.
    """

    recipient: str
    subject: str
    text: str
    html: str = ""
    severity: Severity = Severity.INFO
    tenant: str = ""
    link: str = ""
    key: str = ""
    attachments: Sequence[Attachment] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.recipient.strip():
            raise ValueError("a notification needs a recipient")
        if not self.subject.strip() and not self.text.strip():
            raise ValueError("a notification needs a subject or a text")
        if len(self.subject) > LONGEST_SUBJECT:
            raise ValueError(
                f"a subject has at most {LONGEST_SUBJECT} characters, this one {len(self.subject)}"
            )

    def __repr__(self) -> str:
        # Recipient and text are private: a log that shows the value must not show them.
        return f"<Notification {self.key or self.severity}>"


@dataclass(frozen=True)
class Receipt:
    """What the other side said when it took the notification: `reference` is its id for it."""

    channel: str
    reference: str = ""


class Channel(Protocol):
    """Carries notifications. `send` returns when the other side has taken it, else raises `NotificationError`."""

    @property
    def name(self) -> str:
        """The name of the channel, for errors and receipts."""
        ...

    async def send(self, notification: Notification) -> Receipt:
        """Deliver one notification."""
        ...
