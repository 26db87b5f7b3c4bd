"""`backstay plan`: how many workers a load needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.capacity import Load, Plan

RateOption = Annotated[
    float, typer.Option("--rate", metavar="N", help="Jobs a second at the busiest time.", show_default=False)
]
TakesOption = Annotated[
    str, typer.Option("--takes", metavar="LENGTH", help="How long a job runs on average.", show_default=False)
]
WithinOption = Annotated[
    str, typer.Option("--within", metavar="LENGTH", help="95 of 100 jobs start within this.")
]
FailingOption = Annotated[
    float, typer.Option("--failing", metavar="SHARE", help="Attempts that fail and are tried again: 0.05.")
]
CpuOption = Annotated[
    str, typer.Option("--cpu", metavar="LENGTH", help="Processor time of an attempt, as in 20ms.")
]
SlotsOption = Annotated[int, typer.Option("--concurrency", metavar="N", help="Slots of a worker process.")]
CoresOption = Annotated[int, typer.Option("--cores", metavar="N", help="Processors of a machine.")]
DatabaseOption = Annotated[
    float | None,
    typer.Option(
        "--database-rate",
        metavar="N",
        help="Jobs a second that one database carries; otherwise a cautious figure.",
        show_default=False,
    ),
]


@command
def plan(
    session: Session,
    rate: RateOption,
    takes: TakesOption,
    within: WithinOption = "5s",
    failing: FailingOption = 0.0,
    cpu: CpuOption = "0s",
    concurrency: SlotsOption = 10,
    cores: CoresOption = 4,
    database_rate: DatabaseOption = None,
) -> None:
    """Say how many workers, machines and databases a load needs."""
    from backstay.model.capacity import DATABASE_RATE, Load
    from backstay.model.capacity import plan as planned
    from backstay.model.text.durations import duration

    load = Load(
        rate=rate,
        takes=duration(takes, field="--takes").total_seconds(),
        within=duration(within, field="--within").total_seconds(),
        failing=failing,
        cpu=duration(cpu, field="--cpu").total_seconds(),
        concurrency=concurrency,
        cores=cores,
        database_rate=DATABASE_RATE if database_rate is None else database_rate,
    )
    found = planned(load)
    session.show({"load": load, "plan": found}, lambda: _view(load, found))


def _view(load: Load, found: Plan) -> None:
    printing.fields(
        [
            ("attempts a second", f"{found.attempts:,.1f}"),
            ("at the same time", f"{found.slots:,} jobs"),
            (
                "worker processes",
                f"{found.processes:,} with {load.concurrency} slots, because of {found.reason}",
            ),
            ("machines", f"{found.machines:,} with {load.cores} processors"),
            ("databases", f"{found.databases:,}"),
            ("slots in use", f"{found.in_use:.0%}"),
            ("start too late", f"{found.late:.2%}"),
        ]
    )
