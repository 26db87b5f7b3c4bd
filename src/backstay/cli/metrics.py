"""`backstay metrics`: how much is done by kind, how long it takes and how long it waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.figures import KindFigures

LastOption = Annotated[str, typer.Option("--last", metavar="LENGTH", help="Over which time: 1h, 24h, 7d.")]
HEADINGS = ("queue", "kind", "completed", "failed", "crashed", "dead", "p50", "p95", "p99", "wait p95")
NUMBERS = HEADINGS[2:]


@command
def metrics(session: Session, last: LastOption = "1h") -> None:
    """Show for each kind how its attempts ended, how long they took, and how long jobs had waited."""
    from backstay.client.metrics import period_for

    kinds = session.run(lambda app: app.metrics.by_kind(last, period=period_for(last)))

    def view() -> None:
        if not kinds:
            printing.line(f"No attempt has ended in the last {last}.", style="dim")
        else:
            printing.table(HEADINGS, [_row(one) for one in kinds], right=NUMBERS)

    session.show({"last": last, "kinds": kinds}, view)


def _row(one: KindFigures) -> tuple[printing.Cell, ...]:
    figures = one.figures
    counts = (figures.completed, figures.failed, figures.crashed, figures.dead)
    lengths = (figures.p50_ms, figures.p95_ms, figures.p99_ms, figures.wait_p95_ms)
    return (one.queue, one.kind, *(f"{count:,}" for count in counts), *map(_length, lengths))


def _length(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds:,.0f} ms"
