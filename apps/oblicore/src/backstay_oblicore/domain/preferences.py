"""What somebody wants to be told by mail and text message; in the inbox everything is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from backstay_oblicore.domain.errors import InvalidFacts
from backstay_oblicore.domain.words import AlertType, Channel, Severity

LOUD = (Severity.ERROR, Severity.CRITICAL)
TOPICS: dict[AlertType, str] = {
    AlertType.DEADLINE_ALERT: "Deadlines that come near",
    AlertType.EVIDENCE_REMINDER: "Evidence and samples that are missing",
    AlertType.EXCEEDANCE: "Results near or beyond a limit",
    AlertType.BREACH: "Running hours near a limit",
    AlertType.ESCALATION: "Deadlines of others that were missed",
    AlertType.MODULE_ACTIVATION: "Suggested modules",
    AlertType.SYSTEM: "Imports, packs, reports and documents",
}


@dataclass(frozen=True)
class Preferences:
    """One person's choices; the hours are of the company's zone."""

    muted: frozenset[AlertType] = frozenset()
    text_messages: bool = True
    quiet_from: int | None = None
    quiet_until: int | None = None

    def __post_init__(self) -> None:
        hours = (self.quiet_from, self.quiet_until)
        if (self.quiet_from is None) != (self.quiet_until is None):
            raise InvalidFacts("quiet hours need a beginning and an end")
        if any(hour is not None and not 0 <= hour <= 23 for hour in hours):
            raise InvalidFacts("quiet hours are whole hours from 0 to 23")

    def wants(self, channel: Channel, *, severity: Severity, alert_type: AlertType) -> bool:
        """Say whether a note may take this way; a loud mail always may."""
        if channel is Channel.SMS:
            return self.text_messages
        return channel is not Channel.EMAIL or severity in LOUD or alert_type not in self.muted

    def quiet_for(self, local: datetime) -> timedelta:
        """Return how long text messages wait from this moment on."""
        if self.quiet_from is None or self.quiet_until is None or self.quiet_from == self.quiet_until:
            return timedelta(0)
        since = (local.hour - self.quiet_from) % 24
        length = (self.quiet_until - self.quiet_from) % 24
        if since >= length:
            return timedelta(0)
        ends = datetime.combine(local.date(), time(self.quiet_until), local.tzinfo)
        if ends <= local:
            ends = datetime.combine(local.date() + timedelta(days=1), time(self.quiet_until), local.tzinfo)
        # By the clock of the zone: the night in which clocks change is an hour shorter or longer.
        return timedelta(seconds=ends.timestamp() - local.timestamp())

    def to_json(self) -> dict[str, Any]:
        """Write the choices as they are stored."""
        return {
            "muted": sorted(topic.value for topic in self.muted),
            "text_messages": self.text_messages,
            "quiet_from": self.quiet_from,
            "quiet_until": self.quiet_until,
        }


def from_stored(stored: Mapping[str, Any] | None) -> Preferences:
    """Read stored choices; what is not there is as everybody has it."""
    found = stored or {}
    return Preferences(
        muted=frozenset(AlertType(topic) for topic in found.get("muted", ())),
        text_messages=bool(found.get("text_messages", True)),
        quiet_from=found.get("quiet_from"),
        quiet_until=found.get("quiet_until"),
    )
