"""`backstay top`: whether all is well, queues, workers, what runs and what died, again and again, in a terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.client.doctor.text import spoken

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from backstay.app import Backstay
    from backstay.client.doctor.findings import Finding
    from backstay.model.figures import Depth, FiguresAt
    from backstay.model.job import Job
    from backstay.model.records import DeadLetter, WorkerRecord

FEW = 10
FEWER = 5
VERDICTS = {
    "error": ("Something is broken", "bold red"),
    "warning": ("Somebody should look", "bold yellow"),
    "info": ("All is well", "bold green"),
}
SILENCE = timedelta(seconds=30)

EveryOption = Annotated[
    float, typer.Option("--every", min=0.2, max=3600, help="How many seconds between two looks.")
]
OnceOption = Annotated[
    bool, typer.Option("--once", help="Look once and end; the default without a terminal.")
]


@dataclass(frozen=True)
class Seen:
    """What one look has found."""

    depths: list[Depth]
    workers: list[WorkerRecord]
    running: list[Job]
    findings: list[Finding]
    hour: list[FiguresAt]
    letters: list[DeadLetter]

    @property
    def severity(self) -> str:
        """That of the worst finding; `info` where there is none."""
        found = {finding.severity.value for finding in self.findings}
        return next((word for word in VERDICTS if word in found), "info")

    @property
    def ended(self) -> dict[str, int]:
        """How the attempts of the last hour ended."""
        return {
            how: sum(getattr(one.figures, how) for one in self.hour)
            for how in ("completed", "failed", "crashed", "dead")
        }


@command
def top(session: Session, every: EveryOption = 2.0, once: OnceOption = False) -> None:
    """Show whether all is well, queues, workers, running and dead jobs, and keep it current until Ctrl-C."""
    if once or session.as_json or not sys.stdout.isatty():
        seen = session.run(look)
        session.show(
            {
                "severity": seen.severity,
                "findings": seen.findings,
                "last_hour": seen.ended,
                "depths": seen.depths,
                "workers": seen.workers,
                "running": [job.id for job in seen.running],
                "dead": [letter.job_id for letter in seen.letters],
            },
            lambda: printing.console().print(drawn(seen)),
        )
        return
    try:
        session.run(lambda app: _keep_looking(app, every))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


async def look(app: Backstay) -> Seen:
    """Ask once."""
    from backstay.model.records import JobFilter
    from backstay.model.states import State

    return Seen(
        await app.metrics.depths(),
        await app.workers.all(limit=FEW),
        (await app.jobs.search(JobFilter(state=State.RUNNING), limit=FEW)).jobs,
        await app.doctor.check(),
        await app.metrics.over_time("1h"),
        await app.dead_letters.open(limit=FEWER),
    )


async def _keep_looking(app: Backstay, every: float) -> None:
    # Imported late, so that help comes at once.
    import asyncio

    from rich.live import Live

    with Live(drawn(await look(app)), console=printing.console(), screen=True, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(every)
            live.update(drawn(await look(app)), refresh=True)


def drawn(seen: Seen) -> Group:
    """The whole screen."""
    from rich.console import Group

    return Group(
        *_verdict(seen), "", _queues(seen.depths), "", _workers(seen.workers), "", _running(seen.running), "",
        _dead(seen.letters),
    )  # fmt: skip


def _verdict(seen: Seen) -> list[Text]:
    """One line that says it, how the last hour went, and the worst findings."""
    from rich.text import Text

    word, style = VERDICTS[seen.severity]
    ended = ", ".join(f"{number:,} {how}" for how, number in seen.ended.items() if number) or "nothing ended"
    lines = [Text.assemble((word, style), (f"   last hour: {ended}", "dim"))]
    for finding in seen.findings[:FEWER]:
        lines.append(Text.assemble("  ", printing.plain(finding.title), (f": {finding.advice}", "dim")))
    return lines


def _queues(depths: list[Depth]) -> Table:
    made = _table("Queues", "queue", "ready", "oldest", "running", "scheduled", "held", "dead")
    for queue in sorted({depth.queue for depth in depths}):
        own = [depth for depth in depths if depth.queue == queue]
        oldest = max((depth.oldest_for for depth in own if depth.oldest_for), default=None)
        states = [_sum(own, state) for state in ("available", "running", "scheduled", "held", "dead")]
        made.add_row(
            printing.plain(queue), states[0], spoken(oldest) if oldest else "", *states[1:4],
            printing.plain(states[4], "bold red" if states[4] != "0" else ""),
        )  # fmt: skip
    return made


def _sum(depths: list[Depth], state: str) -> str:
    own = [depth for depth in depths if depth.state == state]
    return f"{sum(depth.jobs for depth in own):,}" + ("+" if any(depth.is_capped for depth in own) else "")


def _workers(workers: list[WorkerRecord]) -> Table:
    made = _table("Workers", "worker", "state", "jobs", "cpu", "memory", "seen")
    for worker in workers:
        silent = worker.state == "alive" and worker.silent_for > SILENCE
        made.add_row(
            printing.plain(worker.id),
            printing.plain("silent" if silent else worker.state, "red" if silent else "green"),
            f"{worker.running}/{worker.concurrency}",
            "" if worker.cpu_percent is None else f"{worker.cpu_percent:.0f} %",
            "" if worker.rss_mb is None else f"{worker.rss_mb} MB",
            f"{spoken(worker.silent_for)} ago",
        )
    return made


def _running(jobs: list[Job]) -> Table:
    made = _table("Running", "kind", "job", "since", "progress", "worker")
    for job in jobs:
        percent = None if job.progress is None else job.progress.percent
        made.add_row(
            printing.plain(job.kind),
            str(job.id),
            printing.ago(job.started_at),
            "" if percent is None else f"{percent:.0f} %",
            printing.plain(job.worker or ""),
        )
    return made


def _dead(letters: list[DeadLetter]) -> Table:
    made = _table("Newest dead letters", "kind", "job", "died", "error")
    for letter in letters:
        error = letter.error or {}
        told = f"{error.get('type', '')}: {error.get('message', '')}" if error else letter.reason
        made.add_row(
            printing.plain(letter.kind),
            str(letter.job_id),
            printing.ago(letter.died_at),
            printing.plain(told),
        )
    return made


def _table(title: str, *headings: str) -> Table:
    from rich.table import Table

    made = Table(
        title=title, title_justify="left", title_style="bold", box=None, header_style="dim", pad_edge=False
    )
    for heading in headings:
        made.add_column(heading, justify="left" if heading == headings[0] else "right", no_wrap=True)
    return made
