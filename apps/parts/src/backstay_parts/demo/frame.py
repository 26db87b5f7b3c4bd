"""How does a demonstration show itself, and how does it end?"""

import argparse
import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from backstay_parts.demo.sums import Sum, exit_code
from backstay_parts.optional import need

_EVENTS_SHOWN = 18


class DemoFailed(RuntimeError):
    """The demonstration cannot go on; the message says why."""


class Demo:
    """What a demonstration writes to: rows of a table, events, sums, addresses to look at.

    On a terminal the table is alive; elsewhere events are lines and the table is printed at the end.
    """

    def __init__(self, title: str, columns: Sequence[str], *, folder: Path, output: Any = None) -> None:
        self.title, self.folder = title, folder
        self.sums: list[Sum] = []
        self._columns = list(columns)
        self._rows: dict[str, dict[str, str]] = {}
        self._events: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._started = time.monotonic()
        self._console = need("rich.console", extra="demo").Console(file=output, highlight=False)
        self._live: Any = None

    def row(self, key: str, **cells: object) -> None:
        """Set cells of the row with this key; the key is the first column."""
        unknown = set(cells) - set(self._columns[1:])
        if unknown:
            raise ValueError(f"the table has no column {', '.join(sorted(unknown))}; it has {self._columns}")
        self._rows.setdefault(key, {}).update({name: str(value) for name, value in cells.items()})
        self._refresh()

    def event(self, text: str) -> None:
        """Say what has just happened."""
        line = f"{time.monotonic() - self._started:6.1f} s  {text}"
        self._events.append(line)
        if self._live is None:
            self._console.print(line, markup=False)
        self._refresh()

    def check(self, name: str, expected: object, found: object) -> bool:
        """Check a sum; it is printed at the end and decides the exit code."""
        figure = Sum(name, expected, found)
        self.sums.append(figure)
        if not figure.holds:
            self.event(str(figure))
        return figure.holds

    def link(self, what: str, where: str) -> None:
        """Name an address or file to look at; printed at the end."""
        self._links.append((what, where))

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Show the table while the block runs."""
        if not self._console.is_terminal:
            yield
            return
        with need("rich.live", extra="demo").Live(
            self._picture(), console=self._console, refresh_per_second=8
        ) as live:
            self._live = live
            try:
                yield
            finally:
                live.update(self._picture())
                self._live = None

    def finish(self) -> int:
        """Print the table (where it was not alive), the sums and the addresses; return the exit code."""
        if not self._console.is_terminal and self._rows:
            self._console.print(self._table())
        for figure in self.sums:
            self._console.print(str(figure), markup=False)
        for what, where in self._links:
            self._console.print(f"{what}: {where}", markup=False)
        held = sum(figure.holds for figure in self.sums)
        took = time.monotonic() - self._started
        self._console.print(f"{self.title}: {held} of {len(self.sums)} sums held, {took:.0f} s", markup=False)
        return exit_code(self.sums)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._picture())

    def _picture(self) -> Any:
        text, panel = need("rich.text", extra="demo").Text, need("rich.panel", extra="demo").Panel
        events = panel(text("\n".join(self._events[-_EVENTS_SHOWN:])), title="events")
        return need("rich.columns", extra="demo").Columns([self._table(), events])

    def _table(self) -> Any:
        table = need("rich.table", extra="demo").Table(title=self.title)
        text = need("rich.text", extra="demo").Text
        for column in self._columns:
            table.add_column(column)
        for key, cells in self._rows.items():
            table.add_row(text(key), *(text(cells.get(column, "")) for column in self._columns[1:]))
        return table


def run_demo(
    title: str,
    columns: Sequence[str],
    story: Callable[[Demo], Awaitable[None]],
    *,
    argv: Sequence[str] | None = None,
    serve_until: Callable[[Demo], Awaitable[None]] | None = None,
) -> int:
    """Tell the story and return the exit code; an error in it is printed and gives 1.

    `--keep` keeps the folder and, after the sums, awaits `serve_until` (else Ctrl-C) so that pages can be looked at.
    Note that what the story started must still run then: open servers in a stack that `serve_until` closes.
    """
    parser = argparse.ArgumentParser(prog=title)
    parser.add_argument("--keep", action="store_true", help="keep servers and files until Ctrl-C")
    options = parser.parse_args([] if argv is None else list(argv))
    folder = Path(tempfile.mkdtemp(prefix="backstay-demo-"))
    demo = Demo(title, columns, folder=folder)
    try:
        return asyncio.run(_tell(demo, story, serve_until, is_kept=options.keep))
    finally:
        if options.keep:
            sys.stdout.write(f"files are kept in {folder}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)


async def _tell(
    demo: Demo,
    story: Callable[[Demo], Awaitable[None]],
    serve_until: Callable[[Demo], Awaitable[None]] | None,
    *,
    is_kept: bool,
) -> int:
    try:
        with demo.shown():
            await story(demo)
    except DemoFailed as error:
        demo.check("the story came to its end", "yes", f"no: {error}")
    except Exception:  # the demonstration's edge: whatever broke is printed, and the exit code says so
        sys.stderr.write(traceback.format_exc())
        demo.check("the story came to its end", "yes", "no")
    code = demo.finish()
    if is_kept:
        await (serve_until(demo) if serve_until is not None else _until_interrupted())
    return code


async def _until_interrupted() -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    sys.stdout.write("running until Ctrl-C\n")
    sys.stdout.flush()
    await ended.wait()
