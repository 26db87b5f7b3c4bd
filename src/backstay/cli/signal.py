"""`backstay signal`: send a job what it waits for."""

from __future__ import annotations

from typing import Annotated

import typer

from backstay.cli.acting import ByOption, JobArgument, actor
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.handlers import codec


@command
def signal(
    session: Session,
    job_id: JobArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal's name.", show_default=False)],
    payload: Annotated[
        str | None, typer.Option("--payload", metavar="JSON", help="What the handler receives.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Sent again under it, the signal is there once."),
    ] = None,
    by: ByOption = None,
) -> None:
    """Send a job the signal that it waits for, or will wait for."""
    value = None if payload is None else codec.decode_strict(payload, what="--payload")
    is_new = session.run(lambda app: app.signals.send(job_id, name, value, key=key, by=actor(by)))
    told = "has received" if is_new else "had received before"
    session.tell(f"job {job_id} {told} the signal {name}", job_id=job_id, name=name, is_new=is_new)
