"""The command `backstay-exora`."""

import asyncio
import json
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn
from uuid import UUID

import asyncpg
import typer

from backstay.errors import StoreError
from backstay_exora.settings import BadSetting

# The application reads its settings when it is imported, so commands import what they need when they run.

cli = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
practices = typer.Typer(no_args_is_help=True, help="Practices.")
patients = typer.Typer(no_args_is_help=True, help="Patients of a practice.")
users = typer.Typer(no_args_is_help=True, help="Staff who log in.")
cli.add_typer(practices, name="practices")
cli.add_typer(patients, name="patients")
cli.add_typer(users, name="users")


class Role(StrEnum):
    """What somebody may do."""

    RECEPTION = "reception"
    CLINICIAN = "clinician"
    REVIEWER = "reviewer"
    ADMIN = "admin"


class Plan(StrEnum):
    """What a practice pays for; premium comes first."""

    STANDARD = "standard"
    PREMIUM = "premium"


class Gender(StrEnum):
    """As the practice has it on record."""

    FEMALE = "female"
    MALE = "male"


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Practice = Annotated[str, typer.Option("--practice", envvar="EXORA_PRACTICE", help="Which practice.")]
By = Annotated[str, typer.Option("--by", envvar="USER", help="Who does it.")]


def main() -> None:
    """Run the command; what went wrong is a sentence, not a traceback."""
    try:
        cli()
    except BadSetting as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None
    except (asyncpg.PostgresError, StoreError, OSError) as error:
        sys.stderr.write(f"{_sentence(error)}\n")
        raise SystemExit(1) from None


def _sentence(error: Exception) -> str:
    match error:
        case asyncpg.ForeignKeyViolationError():
            return "there is no such practice; add it with: backstay-exora practices add"
        case asyncpg.CheckViolationError():
            return f"a value is not allowed here ({error.constraint_name}); see --help"
        case asyncpg.UndefinedTableError() | asyncpg.InvalidSchemaNameError():
            return "the database has no tables of Exora yet; run: backstay-exora migrate"
        case asyncpg.PostgresError() | StoreError():
            return f"the database refused: {error}"
        case _:
            return f"the database or a file cannot be reached: {error}"


@cli.command()
def migrate(as_json: Json = False) -> None:
    """Bring the database to this release."""
    from backstay_exora.jobs import app

    _say(as_json, {"applied": [str(step) for step in _act(app.migrate())]})


@cli.command()
def serve(
    port: Annotated[int, typer.Option(help="The port of the pages.")] = 8004,
    work: Annotated[bool, typer.Option(help="Also run jobs.")] = True,
    concurrency: Annotated[int, typer.Option(help="How many jobs at the same time.")] = 2,
) -> None:
    """Serve pages and API, and run jobs beside them."""
    import uvicorn

    import backstay_exora.jobs  # noqa: F401 - registers the handlers
    from backstay_exora.web.service import make_service

    uvicorn.run(
        make_service(is_working=work, concurrency=concurrency),
        host="127.0.0.1",
        port=port,
        log_level="warning",
    )


@cli.command()
def demo(keep: Annotated[bool, typer.Option(help="Keep servers and files until Ctrl-C.")] = False) -> None:
    """Twelve letters for five patients, read, held, decided, retracted; ends by itself."""
    from backstay_exora.demo.story import run

    raise SystemExit(run(["--keep"] if keep else []))


@practices.command("add")
def add_practice(practice: str, name: str, plan: Plan = Plan.STANDARD, as_json: Json = False) -> None:
    """Add a practice."""
    from backstay_exora.store.patients import add_practice as add

    _run(as_json, lambda connection: add(connection, practice, name, plan=plan.value), {"practice": practice})


@patients.command("add")
def add_patient(
    given_names: str,
    family_name: str,
    born: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="YYYY-MM-DD")],
    practice: Practice,
    gender: Annotated[Gender | None, typer.Option(help="Left out where it is not known.")] = None,
    address: str = "",
    record_number: str = "",
    ihi: str = "",
    as_json: Json = False,
) -> None:
    """Add a patient and print the id."""
    from backstay_exora.store.patients import add_patient as add

    made = _query(
        lambda connection: add(
            connection,
            practice,
            given_names=given_names,
            family_name=family_name,
            date_of_birth=born.date(),
            gender=gender.value if gender else None,
            address=address or None,
            record_number=record_number or None,
            ihi=ihi or None,
        )
    )
    _say(as_json, {"patient": made})


@patients.command("list")
def list_all_patients(practice: Practice, as_json: Json = False) -> None:
    """List a practice's patients."""
    from backstay_exora.store.patients import list_patients

    _say(as_json, _query(lambda connection: list_patients(connection, practice)))


@users.command("add")
def add_user(
    name: str,
    practice: Practice,
    password: Annotated[str, typer.Argument(help="Asked for where it is left out.")] = "",
    role: Role = Role.RECEPTION,
    as_json: Json = False,
) -> None:
    """Add somebody who logs in."""
    password = password or typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    from backstay_exora.store.access import add_staff

    _run(
        as_json,
        lambda connection: add_staff(connection, practice, name, password, role=role.value),
        {"user": name},
    )


@cli.command()
def keys(name: str, practice: Practice, role: Role = Role.RECEPTION, as_json: Json = False) -> None:
    """Make a key for a program; it is shown once."""
    from backstay_exora.store.access import add_key

    _say(as_json, {"key": _query(lambda connection: add_key(connection, practice, name, role=role.value))})


@cli.command()
def upload(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True)],
    patient: Annotated[UUID, typer.Option(help="The patient whom the file is about.")],
    practice: Practice,
    by: By = "command line",
    wait: Annotated[bool, typer.Option(help="Wait until a worker has read it.")] = False,
    as_json: Json = False,
) -> None:
    """Upload a document."""
    from backstay_exora.documents import upload as send
    from backstay_exora.domain.failures import ExoraError
    from backstay_exora.overview import status_of

    content = file.read_bytes()

    async def act() -> dict[str, Any]:
        done = await send(practice, patient, file.name, content, by=by)
        status = await _settled(practice, done.id) if wait else await status_of(practice, done.id)
        return {"id": str(done.id), "is_new": done.is_new, "status": status}

    try:
        _say(as_json, _act(act()))
    except ExoraError as error:
        _fail(as_json, error.code, str(error))


@cli.command()
def document(document_id: UUID, practice: Practice, as_json: Json = False) -> None:
    """Everything about a document."""
    from backstay_exora.overview import document_overview

    found = _act(document_overview(practice, document_id))
    _say(as_json, found) if found else _fail(
        as_json, "NOT_FOUND", "there is no such document in this practice"
    )


@cli.command()
def facts(patient_id: UUID, practice: Practice, as_json: Json = False) -> None:
    """A patient's facts with their sources."""
    from backstay_exora.overview import patient_facts

    found = _act(patient_facts(practice, patient_id))
    _fail(as_json, "NOT_FOUND", "there is no such patient in this practice") if found is None else _say(
        as_json, found
    )


@cli.command()
def reviews(practice: Practice, as_json: Json = False) -> None:
    """What waits for a person."""
    from backstay_exora.review import open_reviews

    _say(as_json, _act(open_reviews(practice)))


@cli.command()
def decide(
    review_id: UUID,
    decision: Annotated[str, typer.Argument(help="approve, move or reject")],
    practice: Practice,
    reason: Annotated[str, typer.Option(help="Mandatory.")],
    patient: Annotated[UUID | None, typer.Option(help="The other patient, to move.")] = None,
    by: By = "command line",
    as_json: Json = False,
) -> None:
    """Decide about a held document."""
    from backstay_exora.review import ReviewRefused
    from backstay_exora.review import decide as record

    try:
        done = _act(record(practice, review_id, decision, by=by, reason=reason, patient_id=patient))
    except ReviewRefused as error:
        _fail(as_json, "REFUSED", str(error))
    _say(as_json, {"document": done})


@cli.command()
def undo(
    review_id: UUID,
    practice: Practice,
    reason: Annotated[str, typer.Option(help="Mandatory.")],
    by: By = "command line",
    as_json: Json = False,
) -> None:
    """Take a decision of the last day back; the document waits for a person again."""
    from backstay_exora.review import ReviewRefused
    from backstay_exora.review import undo as take_back

    try:
        _act(take_back(practice, review_id, by=by, reason=reason))
    except ReviewRefused as error:
        _fail(as_json, "REFUSED", str(error))
    _say(as_json, {"review": review_id, "status": "open"})


@cli.command()
def retract(
    document_id: UUID,
    practice: Practice,
    reason: Annotated[str, typer.Option(help="Mandatory.")],
    by: By = "command line",
    as_json: Json = False,
) -> None:
    """Withdraw everything that was derived from a document."""
    from backstay_exora.retraction import RetractionRefused
    from backstay_exora.retraction import retract as withdraw

    try:
        done = _act(withdraw(practice, document_id, by=by, reason=reason))
    except RetractionRefused as error:
        _fail(as_json, "REFUSED", str(error))
    _say(as_json, {"withdrawn": done})


@cli.command()
def export(patient_id: UUID, practice: Practice, by: By = "command line", as_json: Json = True) -> None:
    """Print a patient's record as a FHIR bundle, which is JSON."""
    from backstay_exora.export import export_patient

    found = _act(export_patient(practice, patient_id, by=by, now=datetime.now(UTC)))
    if found is None:
        _fail(True, "NOT_FOUND", "there is no such patient in this practice")
    _say(True, found)


@cli.command()
def doctor(as_json: Json = False) -> None:
    """Name each finding of the audit as held or broken, and run the four verification queries."""
    from backstay_exora.doctor import examine, verification

    async def act() -> tuple[list[Any], dict[str, Any]]:
        return await examine(), await verification()

    found, reports = _act(act())
    if as_json:
        told = [{"number": item.number, "rule": item.rule, "broken": item.broken} for item in found]
        _say(True, {"findings": told, "verification": reports})
    else:
        for item in found:
            typer.echo(
                f"{item.number:>2} {'held  ' if item.is_held else 'BROKEN'} {item.rule} ({item.broken} rows)"
            )
        for name, rows in reports.items():
            typer.echo(f"{name}: {len(rows)} rows")
    raise typer.Exit(0 if all(item.is_held for item in found) else 1)


def _act(work: Coroutine[Any, Any, Any]) -> Any:
    async def whole() -> Any:
        from backstay_exora.app import app

        try:
            return await work
        finally:
            await app.close()

    return asyncio.run(whole())


def _query(work: Any) -> Any:
    from backstay_exora.app import settings
    from backstay_exora.store.connections import connect

    async def act() -> Any:
        async with connect(settings.database_url) as connection:
            return await work(connection)

    return asyncio.run(act())


def _run(as_json: bool, work: Any, told: dict[str, Any]) -> None:
    _query(work)
    _say(as_json, told)


async def _settled(practice: str, document_id: UUID, *, seconds: float = 600.0) -> str:
    """The status once nothing more happens by itself."""
    from backstay_exora.overview import FINAL_STATUSES, status_of

    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        status = await status_of(practice, document_id)
        if status in FINAL_STATUSES:
            return str(status)
        await asyncio.sleep(0.5)
    return "still running"


def _say(as_json: bool, told: Any) -> None:
    if as_json:
        typer.echo(json.dumps(told, default=str, ensure_ascii=False, indent=2))
    elif isinstance(told, list):
        for row in told:
            typer.echo("  ".join(f"{name}={value}" for name, value in row.items()))
    else:
        for name, value in told.items():
            typer.echo(f"{name}: {value}")


def _fail(as_json: bool, code: str, message: str) -> NoReturn:
    if as_json:
        typer.echo(json.dumps({"error": {"code": code, "message": message}}))
    else:
        typer.echo(f"{code}: {message}", err=True)
    raise typer.Exit(1)
