"""Dated duties as an iCalendar file, to subscribe to or to go with a mail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True)
class Event:
    """One day in a calendar; the same `uid` replaces what an earlier file said."""

    uid: str
    day: date
    summary: str
    url: str
    location: str = ""


def calendar_of(events: Iterable[Event]) -> bytes:
    """Write events as whole days."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Oblicore//Register//EN", "CALSCALE:GREGORIAN"]
    for event in events:
        lines += [
            "BEGIN:VEVENT",
            f"UID:{event.uid}@oblicore",
            "DTSTAMP:20260101T000000Z",
            f"DTSTART;VALUE=DATE:{event.day:%Y%m%d}",
            f"DTEND;VALUE=DATE:{event.day + timedelta(days=1):%Y%m%d}",
            f"SUMMARY:{_escaped(event.summary)}",
            f"LOCATION:{_escaped(event.location)}",
            f"URL:{event.url}",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return ("\r\n".join(_folded(line) for line in lines) + "\r\n").encode()


def _escaped(text: str) -> str:
    for mark in ("\\", ";", ","):
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def _folded(line: str) -> str:
    """Break a line before it has more than 75 bytes, as the format wants it."""
    parts, current = [], ""
    for letter in line:
        if len((current + letter).encode()) > 74:
            parts.append(current)
            current = ""
        current += letter
    return "\r\n ".join([*parts, current])
