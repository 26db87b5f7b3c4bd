"""The reckoning: what the database says, held against the handlers' own journal."""

from __future__ import annotations

from collections import Counter, defaultdict

from rich.console import Console
from rich.table import Table

from backstay import Backstay, Job, State

COLUMNS = ("enqueued", "completed", "dead", "retried", "rescued")


async def report(
    app: Backstay,
    journal: list[tuple[str, str, str, str]],
    *,
    total: int,
    found_again: bool,
    seconds: float,
    console: Console,
) -> bool:
    """Print the table by kind and the checks; True if all of them hold."""
    jobs = await every_job(app)
    by_kind: dict[str, Counter[str]] = defaultdict(Counter)
    rescued: set[str] = set()
    for job in jobs:
        by_kind[job.kind].update({"enqueued": 1, job.state.value: 1})
        if job.run > 1:
            for attempt in await app.jobs.attempts(job.id):
                by_kind[job.kind].update(
                    {"retried": attempt.status == "failed" and job.state is State.COMPLETED}
                )
                by_kind[job.kind].update({"rescued": attempt.status == "crashed"})
                if attempt.status == "crashed":
                    rescued.add(str(job.id))
    console.print(table(by_kind))

    completed = [job for job in jobs if job.state is State.COMPLETED]
    unfinished = [job for job in jobs if not job.is_finished]
    effects = Counter(job_id for job_id, *_ in journal)
    repeated = {job_id for job_id, times in effects.items() if times > 1}
    checks = {
        f"Every job reached its end: {len(jobs) - len(unfinished)} of {total}.": (
            len(jobs) == total and not unfinished
        ),
        f"None was completed twice: {len(completed)} results were accepted, one a job.": all(
            # The epoch of the accepted result, and one more for leaving `running`: nobody wrote after that.
            job.settled_epoch is not None and job.lease_epoch == job.settled_epoch + 1
            for job in completed
        ),
        f"The journal agrees: {len(effects)} did their work, in the runs that were accepted.": (
            set(effects) == {str(job.id) for job in completed}
            and {(str(job.id), str(job.run)) for job in completed} <= {(line[0], line[2]) for line in journal}
        ),
        _told(len(repeated)): repeated <= rescued,
        "The worker that was killed lost nothing: its jobs were rescued.": bool(rescued),
        "The key that was used twice led to one job.": found_again,
    }
    for text, holds in checks.items():
        console.print(f"{'[green]yes[/]' if holds else '[bold red] NO[/]'}  {text}", highlight=False)
    console.print(f"\nDone in {seconds:.0f} s.", highlight=False)
    return all(checks.values())


async def every_job(app: Backstay) -> list[Job]:
    page = await app.jobs.search(limit=200)
    jobs = page.jobs
    while page.cursor is not None:
        page = await app.jobs.search(limit=200, cursor=page.cursor)
        jobs = jobs + page.jobs
    return jobs


def table(by_kind: dict[str, Counter[str]]) -> Table:
    shown = Table(title="\nWhat became of them", title_justify="left", title_style="bold", show_footer=True)
    sums = Counter[str]()
    for counts in by_kind.values():
        sums.update(counts)
    shown.add_column("kind", "all")
    for name in COLUMNS:
        shown.add_column(name, str(sums[name]), justify="right")
    for kind, counts in sorted(by_kind.items()):
        shown.add_row(kind, *(str(counts[name] or "·") for name in COLUMNS))
    return shown


def _told(repeated: int) -> str:
    if not repeated:
        return "No work was done twice either."
    jobs = "1 job" if repeated == 1 else f"{repeated} jobs"
    return f"The work of {jobs} was done twice: the worker was killed after doing it and before saying so."
