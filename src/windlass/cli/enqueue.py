"""`windlass enqueue`: store a job by the name of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from windlass.cli import printing
from windlass.cli.acting import DelayOption, actor, moment
from windlass.cli.session import Session, command
from windlass.errors import InvalidArguments, InvalidPayload, UnknownKind

if TYPE_CHECKING:
    from windlass.app import Windlass
    from windlass.handle import JobHandle
    from windlass.options import JobOptions


@command
def enqueue(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The job's kind.", show_default=False)],
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Arguments, one by one.", show_default=False)
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help='Arguments as JSON: \'{"user_id": 7}\'.')
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Another queue than the kind's.")] = None,
    priority: Annotated[int | None, typer.Option(help="Lower runs first: 1 to 10, usually 5.")] = None,
    delay: DelayOption = None,
    run_at: Annotated[
        str | None, typer.Option("--run-at", metavar="TIME", help="Not before: 2030-05-17T12:00:00Z.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Enqueueing with it again finds the first job.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose job it is.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label to find it by; may be repeated.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end and print the result.")] = False,
    timeout: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Wait at most this long; implies --wait.")
    ] = None,
) -> None:
    """Store a job and print its id."""
    from windlass.options import JobOptions

    options = JobOptions(
        queue=queue, priority=priority, delay=delay, run_at=moment(run_at, option="--run-at"), key=key,
        tenant=tenant, tags=tag or None, created_by=actor(None),
    )  # fmt: skip
    stored = _Order(kind, args, pairs or [], options, wait=wait or timeout is not None, timeout=timeout)
    session.run(lambda app: stored.carry_out(app, session))
