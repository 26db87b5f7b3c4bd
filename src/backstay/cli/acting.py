"""Who acts and when, as people write it on the command line."""

from __future__ import annotations

import getpass
from datetime import datetime
from typing import Annotated

import typer

from backstay.errors import InvalidPayload

ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who acts, for the history; otherwise the user name."),
]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, for those who look later.")]
MaybeReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why, for those who look later.")
]
JobArgument = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]
RunAtOption = Annotated[
    str | None, typer.Option("--run-at", metavar="TIME", help="Not before: 2030-05-17T12:00:00Z.")
]
DelayOption = Annotated[
    str | None, typer.Option("--delay", metavar="LENGTH", help="Not before this long: 30s, 5m, 1h30m, 7d.")
]


def actor(by: str | None) -> str:
    """The name given, or the name of the user who runs the command."""
    if by:
        return by
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a user that has no name.
        return "command line"


def moment(text: str | None, *, option: str) -> datetime | None:
    """A time as ISO 8601 with its zone; raises InvalidPayload that names the option."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidPayload(f"{option} cannot be {text!r}: write it as 2030-05-17T12:00:00Z") from None
    if read.tzinfo is None:
        raise InvalidPayload(
            f"{option} {text!r} has no time zone: add Z for UTC, or an offset such as +02:00"
        )
    return read
