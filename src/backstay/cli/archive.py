"""`backstay archive`: old jobs to a folder or a bucket, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backstay.cli import printing
from backstay.cli.defaults import with_default
from backstay.cli.options import command
from backstay.cli.session import Session

if TYPE_CHECKING:
    from backstay.model.archive import ArchiveCheck, ArchiveFile

PlaceOption = Annotated[
    str | None,
    typer.Option(
        "--place", metavar="PLACE", help="A folder, or s3://bucket/prefix; otherwise the setting archive_to."
    ),
]
OlderOption = Annotated[
    str | None,
    typer.Option("--older-than", metavar="LENGTH", help="As in 30d; otherwise what the policy keeps."),
]
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The file, as 'list' shows it.", show_default=False)
]
SomeNameArgument = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="The file, as 'list' shows it; otherwise all.", show_default=False),
]

archive = typer.Typer(
    cls=with_default("list", nothing="list"), help="Move old jobs to a folder or a bucket, and put them back."
)


@archive.command()
@command
def run(session: Session, place: PlaceOption = None, older_than: OlderOption = None) -> None:
    """Write finished jobs that were kept long enough, verify what was written, and remove them."""
    done = session.run(lambda app: app.archive.run(to=place, older_than=older_than))
    session.show(
        done,
        lambda: printing.line(
            f"{done.jobs:,} jobs written to {len(done.files):,} files, {done.removed:,} removed"
        ),
    )


@archive.command("list")
@command
def list_(session: Session, place: PlaceOption = None) -> None:
    """Show the files of the archive, the oldest first."""
    found = session.run(lambda app: app.archive.files(place=place))

    def view() -> None:
        printing.table(("written", "file", "jobs", "bytes"), map(_row, found), right=("jobs", "bytes"))

    session.show({"files": found}, view)


@archive.command()
@command
def verify(session: Session, name: SomeNameArgument = None, place: PlaceOption = None) -> None:
    """Read files again and compare them with their manifests; exits with 1 if one is not whole."""
    checks = session.run(lambda app: app.archive.verify(name, place=place))
    session.show({"checks": checks}, lambda: _told(checks))
    if any(check.problem for check in checks):
        raise typer.Exit(1)


@archive.command()
@command
def restore(session: Session, name: NameArgument, place: PlaceOption = None) -> None:
    """Put the jobs of a file back as they were; best into a database of its own, where no worker tidies up."""
    done = session.run(lambda app: app.archive.restore(name, place=place))
    session.show(
        done, lambda: printing.line(f"{done.jobs:,} jobs put back, {done.there:,} had been there already")
    )


def _row(file: ArchiveFile) -> tuple[printing.Cell, ...]:
    return (printing.ago(file.made_at), file.name, f"{file.jobs:,}", f"{file.size:,}")


def _told(checks: list[ArchiveCheck]) -> None:
    for check in checks:
        if check.problem:
            printing.line(f"{check.name}: {check.problem}", style="bold red")
    whole = [check for check in checks if not check.problem]
    printing.line(
        f"{len(whole):,} files with {sum(check.jobs for check in whole):,} jobs are whole", style="green"
    )
