"""`backstay enqueue`: store a job by the name of its kind."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backstay.cli import printing
from backstay.cli.acting import DelayOption, RunAtOption, actor, moment
from backstay.cli.options import command
from backstay.cli.session import Session
from backstay.errors import InvalidArguments, UnknownKind
from backstay.handlers import codec
from backstay.model.text.durations import duration

if TYPE_CHECKING:
    from backstay.app import Backstay
    from backstay.handle import JobHandle
    from backstay.model.job import Job

Pairs = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Arguments one by one.", show_default=False)
]
Args = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON", help="Arguments as one JSON object.", show_default=False),
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the job's end and print its result.")]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="LENGTH", help="Wait at most this long; implies --wait.")
]


@command
def enqueue(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The job's kind.", show_default=False)],
    pairs: Pairs = None,
    args: Args = None,
    queue: Annotated[str | None, typer.Option(help="Another queue than the kind's own.")] = None,
    priority: Annotated[int | None, typer.Option(help="Lower runs first: 1 to 10, 5 if not given.")] = None,
    delay: DelayOption = None,
    run_at: RunAtOption = None,
    key: Annotated[str | None, typer.Option(help="Enqueueing with it again finds the first job.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose job it is.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A label to find it by; may be repeated.")] = None,
    wait: Wait = False,
    timeout: Timeout = None,
) -> None:
    """Store a job and print its id."""
    from backstay.options import JobOptions

    limit = None if timeout is None else duration(timeout, field="--timeout")
    options = JobOptions(
        queue=queue,
        priority=priority,
        delay=delay,
        run_at=moment(run_at, option="--run-at"),
        key=key,
        tenant=tenant,
        tags=tag or None,
        created_by=actor(None),
    )

    async def store(app: Backstay) -> None:
        given = read_arguments(kind, args, pairs or [], await _schema(app, kind))
        handle = await app.jobs.enqueue_by_name(kind, given, options)
        if not session.as_json:
            _tell_stored(handle)
        if wait or limit is not None:
            await handle.result(timeout=limit)
        _show_end(session, handle, await app.jobs.get(handle.id))

    session.run(store)


def read_arguments(
    kind: str, text: str | None, pairs: Sequence[str], schema: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments from one JSON object or from `name=value` pairs; raises InvalidJob that says which is wrong."""
    given = {} if text is None else codec.decode_strict(text, what="--args")
    if not isinstance(given, dict):
        raise InvalidArguments(kind, f'--args must be a JSON object such as {{"user_id": 7}}, not {text}')
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidArguments(
                kind, f"{pair!r} is not an argument: write name=value, or --args with JSON"
            )
        if name in given:
            raise InvalidArguments(kind, "given twice", field=name)
        given[name] = _value(value, schema.get("properties", {}).get(name, {}))
    return given


def _value(text: str, wanted: Mapping[str, Any]) -> Any:
    """What a person means by a value: text where text is wanted, otherwise JSON where it can be read as such."""
    if wanted.get("type") == "string" or text[:1] not in _STARTS_JSON:
        return text
    if text[:1] in "[{" or text in ("true", "false", "null") or _is_number(text):
        return codec.decode_strict(text, what=f"value {text!r}")
    return codec.decode_strict(text) if text[:1] == '"' else text


_STARTS_JSON = frozenset('[{"tfn-0123456789')


def _is_number(text: str) -> bool:
    # A number as JSON has it: 007 and 1_000 stay text.
    try:
        float(text)
    except ValueError:
        return False
    digits = text.lstrip("-")
    return "_" not in text and not (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit())


async def _schema(app: Backstay, kind: str) -> Mapping[str, Any]:
    """What the kind takes; raises UnknownKind with similar names."""
    if kind in app._registry:
        return app._registry.get(kind).schema
    stored = {record.kind: record for record in await app.workers.kinds()}
    if kind in stored:
        return stored[kind].arguments or {}
    known = {*stored, *app._registry.kinds()}
    error = UnknownKind(kind, known=known)
    near = difflib.get_close_matches(kind, known, n=3)
    if near:
        error.add_note(f"Did you mean {' or '.join(map(repr, near))}?")
    elif not known:
        error.add_note(
            "No kind is known here: name the application with --app module:app, or start its worker once."
        )
    raise error


def _tell_stored(handle: JobHandle[Any]) -> None:
    if handle.is_new:
        printing.line(f"{handle.kind} {handle.id} is stored")
    else:
        printing.line(f"{handle.kind} {handle.id} was there already, under this key")


def _show_end(session: Session, handle: JobHandle[Any], job: Job) -> None:
    document = {"id": handle.id, "kind": handle.kind, "is_new": handle.is_new}
    document |= {"queue": job.queue, "state": job.state, "run_at": job.run_at, "result": job.result}

    def view() -> None:
        if job.is_finished:
            printing.code(printing.json_text(job.result))

    session.show(document, view)
