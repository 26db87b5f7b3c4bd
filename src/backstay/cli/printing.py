"""How answers look: tables and sentences for people, one JSON document for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from backstay.client.doctor.text import spoken
from backstay.model.states import State
from backstay.model.text.error_text import safe_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    Cell = Text | str

STATE_STYLES = {
    State.SCHEDULED: "yellow",
    State.HELD: "magenta",
    State.AVAILABLE: "cyan",
    State.RUNNING: "blue",
    State.COMPLETED: "green",
    State.DEAD: "bold red",
    State.RESOLVED: "dim",
    State.CANCELLED: "dim",
}
UNBREAKABLE = frozenset({"id", "job", "state", "status"})
UNBROKEN = 10_000
"""Columns where nobody looks: in a file or a pipe a line must not be cut to a width."""


def document(value: object) -> None:
    """Print one JSON document."""
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2)
    sys.stdout.write(text.decode() + "\n")
    sys.stdout.flush()


def json_line(value: object) -> None:
    """Print one line of JSON, as log lines are."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def line(sentence: str, *, style: str = "") -> None:
    """Print a sentence on standard output."""
    console().print(plain(sentence, style))


def code(text: str, *, style: str = "") -> None:
    """Print what may be copied: its lines are never broken by us."""
    console().print(plain(text, style), soft_wrap=True)


def note(sentence: str) -> None:
    """Print one line on standard error, beside the answer."""
    console(sys.stderr).print(plain(sentence, "dim"))


def problem(error: BaseException) -> None:
    """Print what went wrong and what may help, on standard error."""
    from rich.text import Text

    out = console(sys.stderr)
    out.print(Text.assemble(("Error: ", "bold red"), plain(str(error) or type(error).__name__)))
    for hint in hints(error):
        out.print(plain(hint))


def hints(error: BaseException) -> list[str]:
    """What an error was given along the way, such as similar names."""
    return [str(hint) for hint in getattr(error, "__notes__", ())]


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Sequence[str] = ()) -> None:
    """Print rows under headings; those in `right` are numbers."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold dim", padding=(0, 2, 0, 0))
    for heading in headings:
        made.add_column(
            heading,
            justify="right" if heading in right else "left",
            no_wrap=heading in UNBREAKABLE,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*(plain(cell) if isinstance(cell, str) else cell for cell in row))
    console().print(made)


def fields(pairs: Iterable[tuple[str, Cell | None]]) -> None:
    """Print names and values below each other, without those that are empty."""
    from rich.table import Table

    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            made.add_row(name, plain(value) if isinstance(value, str) else value)
    console().print(made)


def heading(text: str) -> None:
    """Print the title of a part."""
    console().print()
    console().print(plain(text, "bold"))


def plain(text: str, style: str = "") -> Text:
    """Text that is shown as it is: no markup is read in it, and nothing in it can steer the terminal."""
    from rich.text import Text

    return Text("\n".join(safe_text(part) for part in text.split("\n")), style=style)


def state(value: State, word: str | None = None) -> Text:
    """A state in its colour, by its own name or by an application's word for it."""
    return plain(word or value.value, STATE_STYLES[value])


def json_text(value: object) -> str:
    """A value of a job as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def short_json(value: object, *, most: int = 80) -> str:
    """The same on one line, cut where it gets long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[:most]}…"


def ago(moment: datetime | None) -> str:
    """How long ago a moment was, or how far ahead it is."""
    if moment is None:
        return ""
    distance = now() - moment
    if abs(distance) < timedelta(seconds=1):
        return "now"
    return f"{spoken(distance)} ago" if distance > timedelta(0) else f"in {spoken(distance)}"


def exactly(moment: datetime | None) -> str:
    """A moment for reading and for copying, with its distance from now."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC ({ago(moment)})" if moment else ""


def in_zone(moment: datetime, zone: str) -> str:
    """A moment in UTC and by the clocks of a zone, with its distance from now."""
    if zone == "UTC":
        return exactly(moment)
    local = moment.astimezone(ZoneInfo(zone))
    offset = f"{local:%z}"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC, {local:%H:%M:%S} {offset[:3]}:{offset[3:]} in {zone} ({ago(moment)})"


def console(stream: IO[str] | None = None) -> Console:
    """Where to print: as wide as the terminal, or without line breaks into a pipe."""
    from rich.console import Console

    stream = stream or sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else UNBROKEN
    return Console(file=stream, highlight=False, width=width)


def error(stored: Mapping[str, Any]) -> None:
    """Print a stored error: what it was, and where it came from."""
    line(f"{stored.get('type')}: {stored.get('message')}", style="red")
    told = {**(stored.get("details") or {}), **(stored.get("context") or {})}
    if stored.get("code"):
        told["code"] = stored["code"]
    if "partial_result" in stored:
        told["partial result"] = stored["partial_result"]
    for name, value in told.items():
        line(f"  {name}: {value if isinstance(value, str) else short_json(value)}")
    if stored.get("traceback"):
        code(str(stored["traceback"]), style="dim")


def now() -> datetime:
    """The time on this machine."""
    return datetime.now(UTC)
