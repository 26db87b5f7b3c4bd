"""What the platform's mails say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from backstay_watchpoint.domain.zones import UnknownZone, zone_named


@dataclass(frozen=True, slots=True)
class MailText:
    """A subject and a text."""

    subject: str
    text: str


def local_zone(preferences: Mapping[str, Any]) -> ZoneInfo:
    """Return an organisation's zone; UTC if it has none that is known."""
    try:
        return zone_named(str(preferences.get("timezone", "UTC")))
    except UnknownZone:
        return ZoneInfo("UTC")


def local_time(moment: datetime, zone: ZoneInfo) -> str:
    """Write a moment as the organisation's clocks show it."""
    return f"{moment.astimezone(zone):%a %d %b %Y %H:%M} ({zone.key})"


def one_line(text: str) -> str:
    """Make a text fit for a header, whatever line ends and control characters a tenant has typed."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def digest_mail(
    name: str,
    due: datetime,
    zone: ZoneInfo,
    *,
    active: Sequence[str],
    notified: Sequence[tuple[datetime, str]],
) -> MailText:
    """Write a digest: the active watchpoints, and what was told since the day before."""
    lines = [f"Digest for {name}, {local_time(due, zone)}", "", f"Active watchpoints: {len(active)}"]
    lines += [f"  {watchpoint}" for watchpoint in active[:20]]
    lines += ["", f"Notifications of the last day: {len(notified)}"]
    lines += [f"  {local_time(at, zone)}: {subject}" for at, subject in notified[:20]]
    return MailText(f"Your weather digest, {due.astimezone(zone):%a %d %b %Y}", "\n".join(lines) + "\n")


def notification_mail(payload: Mapping[str, Any], told: datetime, zone: ZoneInfo) -> MailText:
    """Write one notification."""
    subject = one_line(str(payload.get("subject", "Weather alert")))
    return MailText(subject, f"{payload.get('text', subject)}\n\nNoticed {local_time(told, zone)}\n")


def summary_mail(watchpoint: str, text: str) -> MailText:
    """Write the report on an event that has passed."""
    return MailText(one_line(f"Summary of {watchpoint}"), f"{text}\n")


def alert_mail(name: str, severity: str, message: str, raised: datetime) -> MailText:
    """Write what operators must know."""
    return MailText(f"[{severity}] {name}", f"{message}\n\nRaised {local_time(raised, ZoneInfo('UTC'))}\n")
