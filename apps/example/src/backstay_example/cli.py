"""The command `backstay-example`."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from backstay.errors import JobDead
from backstay_example.jobs import Reminders

main = typer.Typer(help="Reminders that become letters, each exactly once.", no_args_is_help=True)


@main.callback()
def backstay_example() -> None:
    """Reminders that become letters, each exactly once."""


@main.command()
def demo() -> None:
    """Write a few letters and refuse one reminder; exits 0 only if the letters are those expected."""
    with tempfile.TemporaryDirectory() as folder:
        written, refusal = asyncio.run(_demonstrate(Path(folder) / "example.db"))
    for text in written:
        typer.echo(text)
    typer.echo(f"refused: {refusal}")
    if len(written) != 3 or "names nobody" not in refusal:
        raise typer.Exit(1)


async def _demonstrate(path: Path) -> tuple[list[str], str]:
    reminders = Reminders(path)
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    async with reminders.app.working():
        for name in ("Ada", "Bob", "Cleo"):
            job = await reminders.remind.enqueue(name, "the report", tomorrow)
            await job.result(timeout=30)
        nobody = await reminders.remind.enqueue(" ", "the report", tomorrow)
        try:
            await nobody.result(timeout=30)
        except JobDead as error:
            return reminders.letters(), str(error)
        finally:
            await reminders.app.close()
    return reminders.letters(), "nothing"
