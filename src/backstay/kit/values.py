"""The small values that an application hands to its pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Tone = Literal["neutral", "info", "good", "warn", "bad", "muted", "accent"]
CellKind = Literal["text", "number", "badge", "time", "size", "duration", "percent", "code", "progress"]

TONES: Mapping[str, Tone] = {
    **dict.fromkeys(
        ("completed", "succeeded", "success", "ok", "done", "ready", "active", "healthy", "valid", "passed",
         "sent", "delivered", "confirmed", "approved", "signed", "published", "up", "alive", "processed"),
        "good",
    ),
    **dict.fromkeys(("running", "processing", "in progress", "started", "sending", "detected"), "info"),
    **dict.fromkeys(
        ("scheduled", "held", "waiting", "retrying", "pending", "review", "paused", "late", "warning",
         "attention", "degraded", "due soon", "partial", "back-filled", "draining", "deferred"),
        "warn",
    ),
    **dict.fromkeys(
        ("dead", "failed", "error", "broken", "overdue", "invalid", "rejected", "missing", "expired", "critical",
         "down", "lost", "dead letter", "breach", "unhealthy"),
        "bad",
    ),
    **dict.fromkeys(("resolved", "cancelled", "skipped", "archived", "ignored", "disabled", "off"), "muted"),
    **dict.fromkeys(("available", "queued", "new", "open"), "accent"),
}  # fmt: skip
"""How the words for states are coloured; an application adds its own with `Pages(tones=…)`."""


@dataclass(frozen=True)
class NavItem:
    """One entry of the navigation: `count` is shown behind it, `key` is its keyboard shortcut (`g j`)."""

    label: str
    href: str
    group: str = ""
    key: str = ""
    count: int | None = None
    right: str = ""
    """Shown only to an actor with this right; empty: to everybody."""


@dataclass(frozen=True)
class Crumb:
    """One step of the path above the heading; the last has no address."""

    label: str
    href: str = ""


@dataclass(frozen=True)
class Column:
    """One column of a table: which key of a row it shows, and how.

    `link`, `unit`, `digits` and `tone` name what goes with the value: the key of the row's address, the unit
    behind a number and its decimals, the key of a badge's tone.
    """

    key: str
    label: str
    kind: CellKind = "text"
    sort: bool = False
    link: str = ""
    unit: str = ""
    digits: int | None = None
    tone: str = ""
    hide_on_phone: bool = False

    @property
    def numeric(self) -> bool:
        """Numbers stand right, so that their digits line up."""
        return self.kind in {"number", "size", "duration", "percent"}


@dataclass(frozen=True)
class Entry:
    """One entry of a timeline."""

    title: str
    at: Any = None
    text: str = ""
    tone: Tone = "neutral"
    href: str = ""
    who: str = ""


@dataclass(frozen=True)
class Tab:
    """One tab: an address of its own, so that it works without a script."""

    label: str
    href: str
    current: bool = False
    count: int | None = None


@dataclass(frozen=True)
class Box:
    """A highlighted area of a page image, in the page's own coordinates."""

    x: float
    y: float
    width: float
    height: float
    label: str = ""
    tone: Tone = "accent"
    href: str = ""
    id: str = ""


@dataclass(frozen=True)
class Choice:
    """One option of a select field."""

    value: str
    label: str = ""


@dataclass(frozen=True)
class PageLinks:
    """Cursors of the pages before and after this one; None at either end."""

    next: str | None = None
    previous: str | None = None
    shown: int | None = None
    parameter: str = "cursor"


@dataclass(frozen=True)
class Flash:
    """A message that the next page shows once."""

    text: str
    tone: Tone = "good"


def cell_of(row: Any, key: str) -> Any:
    """Read one cell: of a mapping by key, of an object by attribute; absent is None."""
    if not key:
        return None
    if isinstance(row, Mapping):
        return row.get(key)
    return getattr(row, key, None)


def tone_of(state: object, tones: Mapping[str, Tone]) -> Tone:
    """Return the tone of a state's word, whatever its case and whether with `_` or spaces."""
    word = str(state).lower().replace("_", " ").replace("-", " ")
    return tones.get(word, tones.get(str(state).lower(), "neutral"))


def grouped(items: Sequence[NavItem]) -> list[tuple[str, list[NavItem]]]:
    """Gather navigation entries by their group, in the order of first sight."""
    groups: dict[str, list[NavItem]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    return list(groups.items())
