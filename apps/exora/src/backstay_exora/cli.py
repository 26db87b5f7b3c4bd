"""The command `backstay-exora`."""

import asyncio
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import typer

from backstay.errors import StoreError
from backstay_exora.cli_support import act, fail, query, run, say
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

    say(as_json, {"applied": [str(step) for step in act(app.migrate())]})


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

    run(as_json, lambda connection: add(connection, practice, name, plan=plan.value), {"practice": practice})


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

    made = query(
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
    say(as_json, {"patient": made})


@patients.command("list")
def list_all_patients(practice: Practice, as_json: Json = False) -> None:
    """List a practice's patients."""
    from backstay_exora.store.patients import list_patients

    say(as_json, query(lambda connection: list_patients(connection, practice)))


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

    run(
        as_json,
        lambda connection: add_staff(connection, practice, name, password, role=role.value),
        {"user": name},
    )


@cli.command()
def keys(name: str, practice: Practice, role: Role = Role.RECEPTION, as_json: Json = False) -> None:
    """Make a key for a program; it is shown once."""
    from backstay_exora.store.access import add_key

    say(as_json, {"key": query(lambda connection: add_key(connection, practice, name, role=role.value))})


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

    async def uploaded() -> dict[str, Any]:
        done = await send(practice, patient, file.name, content, by=by)
        status = await _settled(practice, done.id) if wait else await status_of(practice, done.id)
        return {"id": str(done.id), "is_new": done.is_new, "status": status}

    try:
        say(as_json, act(uploaded()))
    except ExoraError as error:
        fail(as_json, error.code, str(error))


@cli.command()
def document(document_id: UUID, practice: Practice, as_json: Json = False) -> None:
    """Everything about a document."""
    from backstay_exora.overview import document_overview

    found = act(document_overview(practice, document_id))
    say(as_json, found) if found else fail(as_json, "NOT_FOUND", "there is no such document in this practice")


@cli.command()
def facts(patient_id: UUID, practice: Practice, as_json: Json = False) -> None:
    """A patient's facts with their sources."""
    from backstay_exora.overview import patient_facts

    found = act(patient_facts(practice, patient_id))
    fail(as_json, "NOT_FOUND", "there is no such patient in this practice") if found is None else say(
        as_json, found
    )


@cli.command()
def reviews(practice: Practice, as_json: Json = False) -> None:
    """What waits for a person."""
    from backstay_exora.review import open_reviews

    say(as_json, act(open_reviews(practice)))


@cli.command()
def decide(
    review_id: UUID,
    decision: Annotated[str, typer.Argument(help="approve, move or reject")],
    practice: Practice,
    reason: Annotated[str, typer.Option(help="Mandatory.")],
    patient: Annotated[UUID | None, typer.Option(help="The other patient, to move.")] = None,
    name: Annotated[str, typer.Option(help="What an unsure reading says, as the picture has it.")] = "",
    dose: Annotated[str, typer.Option(help="The dose, as the picture has it.")] = "",
    by: By = "command line",
    as_json: Json = False,
) -> None:
    """Decide about a held document or an unsure reading."""
    from backstay_exora.review import Correction, ReviewRefused
    from backstay_exora.review import decide as record

    correction = Correction(name, dose) if name or dose else None
    given = record(
        practice, review_id, decision, by=by, reason=reason, patient_id=patient, correction=correction
    )
    try:
        done = act(given)
    except ReviewRefused as error:
        fail(as_json, "REFUSED", str(error))
    say(as_json, {"document": done})


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
        act(take_back(practice, review_id, by=by, reason=reason))
    except ReviewRefused as error:
        fail(as_json, "REFUSED", str(error))
    say(as_json, {"review": review_id, "status": "open"})


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
        done = act(withdraw(practice, document_id, by=by, reason=reason))
    except RetractionRefused as error:
        fail(as_json, "REFUSED", str(error))
    say(as_json, {"withdrawn": done})


@cli.command()
def export(patient_id: UUID, practice: Practice, by: By = "command line", as_json: Json = True) -> None:
    """Print a patient's record as a FHIR bundle, which is JSON."""
    from backstay_exora.export import export_patient

    found = act(export_patient(practice, patient_id, by=by, now=datetime.now(UTC)))
    if found is None:
        fail(True, "NOT_FOUND", "there is no such patient in this practice")
    say(True, found)


@cli.command()
def doctor(as_json: Json = False) -> None:
    """Name each finding of the audit as held or broken, and run the four verification queries."""
    from backstay_exora.doctor import examine, verification

    async def asked() -> tuple[list[Any], dict[str, Any]]:
        return await examine(), await verification()

    found, reports = act(asked())
    if as_json:
        told = [{"number": item.number, "rule": item.rule, "broken": item.broken} for item in found]
        say(True, {"findings": told, "verification": reports})
    else:
        for item in found:
            typer.echo(
                f"{item.number:>2} {'held  ' if item.is_held else 'BROKEN'} {item.rule} ({item.broken} rows)"
            )
        for name, rows in reports.items():
            typer.echo(f"{name}: {len(rows)} rows")
    raise typer.Exit(0 if all(item.is_held for item in found) else 1)


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
