"""What the demo shows while it runs: bars by kind and state, the workers, and what just happened."""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from backstay import State

COLOURS = {
    State.COMPLETED: "green",
    State.DEAD: "red",
    State.RUNNING: "yellow",
    State.AVAILABLE: "grey62",
    State.SCHEDULED: "blue",
}
BAR = 30
EVENTS = 7


@dataclass
class Seen:
    """One look at the shop."""

    seconds: float = 0.0
    counts: dict[str, dict[State, int]] = field(default_factory=dict)
    rate: float = 0.0
    workers: list[tuple[str, int, str, int, int]] = field(default_factory=list)

    def total(self, *states: State) -> int:
        return sum(of_kind.get(state, 0) for of_kind in self.counts.values() for state in states)


class View:
    """A live picture on a terminal, plain lines everywhere else."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._events: deque[Text] = deque(maxlen=EVENTS)
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._said_at = 0.0
        self._last = Seen()

    def __enter__(self) -> View:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, seen: Seen) -> None:
        self._last = seen
        if self._live is not None:
            self._live.update(self.picture(), refresh=True)
        elif seen.seconds - self._said_at >= 2:
            self._said_at = seen.seconds
            numbers = "  ".join(f"{state.value} {seen.total(state)}" for state in COLOURS)
            self.console.print(f"{seen.seconds:5.1f} s  {numbers}  ({seen.rate:.0f} jobs/s)", soft_wrap=True)

    def say(self, seconds: float, text: str, style: str = "") -> None:
        """Add an event line."""
        line = Text(f"{seconds:5.1f} s  ", style="grey62").append(text, style=style)
        line.no_wrap, line.overflow = True, "ellipsis"
        if self._live is None:
            self.console.print(line.plain, soft_wrap=True, highlight=False)
        else:
            self._events.append(line)
            self._live.update(self.picture(), refresh=True)

    def picture(self) -> RenderableType:
        seen = self._last
        head = Text.assemble(
            ("Backstay", "bold"),
            ("  the back office of a shop, on SQLite", ""),
            (f"   {seen.seconds:.0f} s   {seen.rate:.0f} jobs/s", "cyan"),
        )
        gap = [Text("")] * (EVENTS - len(self._events))
        events = Panel(Group(*self._events, *gap), title="what happens", border_style="grey37")
        return Panel(
            Group(head, Text(""), _jobs(seen), _legend(seen), Text(""), _workers(seen), events), width=80
        )


def _jobs(seen: Seen) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=14)
    table.add_column(width=BAR)
    table.add_column(justify="right", width=9)
    table.add_column()
    for kind, counts in sorted(seen.counts.items()):
        total, done = sum(counts.values()), counts.get(State.COMPLETED, 0)
        dead = counts.get(State.DEAD, 0)
        table.add_row(kind, _bar(counts), f"{done}/{total}", Text(f"{dead} dead", "red") if dead else "")
    return table


def _bar(counts: dict[State, int]) -> Text:
    """One row of blocks, in which each state has its share and none that exists is left out."""
    total = sum(counts.values()) or 1
    bar, done = Text(), 0
    for state, colour in COLOURS.items():
        before, done = done, done + counts.get(state, 0)
        bar.append("█" * (round(BAR * done / total) - round(BAR * before / total)), colour)
    return bar


def _legend(seen: Seen) -> Text:
    parts = [(f"■ {state.value} {seen.total(state)}  ", colour) for state, colour in COLOURS.items()]
    return Text.assemble("\n", *parts)


def _workers(seen: Seen) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="bold", pad_edge=False)
    for name in ("worker", "pid", "process", "in hand", "completed"):
        table.add_column(name, justify="left" if name in ("worker", "process") else "right", min_width=8)
    for name, pid, state, running, completed in seen.workers:
        style = "red" if state == "killed" else ""
        table.add_row(name, str(pid), state, str(running), str(completed), style=style)
    return table


def save_picture(view: View, path: Path) -> None:
    """Keep what the view shows as an SVG file."""
    with Path(os.devnull).open("w") as nowhere:
        recorder = Console(record=True, width=82, file=nowhere, force_terminal=True)
        recorder.print(view.picture())
        drawn = recorder.export_svg(title="make demo")
    # The picture must not fetch fonts from elsewhere.
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL))
