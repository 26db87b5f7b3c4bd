"""Forms for what a site has and is measured at: a new generator or parameter, stack tests, fuel, incidents."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from backstay.kit import Actor, CheckedForm, Crumb, blank_form, check_form, not_found, path_of
from backstay_oblicore import records
from backstay_oblicore.domain.errors import AccessDenied, OblicoreError
from backstay_oblicore.domain.sampling import LimitKind
from backstay_oblicore.services import Services
from backstay_oblicore.store import generators
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import Access, user_of


class GeneratorForm(records.NewGenerator):
    """A generator and the document that permits it."""

    document_id: UUID


class ParameterForm(records.NewParameter):
    """A parameter and the document that asks for it."""

    document_id: UUID


@dataclass(frozen=True)
class Field:
    """One field of a form; with choices it is a list to choose from."""

    name: str
    label: str
    type: str = "text"
    required: bool = False
    help: str = ""
    choices: Sequence[tuple[str, str]] = ()
    default: str = ""


GENERATOR_FIELDS = (
    Field("generator_identifier", "Name", required=True, help="As the registration calls it."),
    Field("anniversary_date", "Limit year begins on", "date", required=True),
    Field("annual_run_hour_limit", "Hours allowed a year", "number"),
    Field("monthly_run_hour_limit", "Hours allowed a month", "number"),
    Field("capacity_mw", "Thermal input in MW", "number"),
    Field("fuel_type", "Fuel", default="gas oil"),
    Field("generator_type", "Used as", default="standby"),
)
PARAMETER_FIELDS = (
    Field("parameter_type", "Parameter", required=True),
    Field("sampling_frequency", "Sampled", default="MONTHLY", choices=[
        ("DAILY", "daily"), ("WEEKLY", "weekly"), ("MONTHLY", "monthly"), ("QUARTERLY", "quarterly"),
        ("ANNUAL", "yearly")]),
    Field("limit_kind", "Limit", default="MAXIMUM", choices=[
        (LimitKind.MAXIMUM, "not more than"), (LimitKind.MINIMUM, "not less than"), (LimitKind.RANGE, "between")]),
    Field("range_minimum", "Lowest value", "number", help="Only for a range."),
    Field("limit_value", "Limit, or highest value of a range", "number"),
    Field("unit", "Unit"),
)  # fmt: skip


@dataclass(frozen=True)
class RecordKind:
    """A kind of record that a generator has."""

    title: str
    model: type[BaseModel]
    add: Callable[..., Awaitable[None]]
    fields: tuple[Field, ...]


RECORDS = {
    "stack-tests": RecordKind("Stack test", records.NewStackTest, records.add_stack_test, (
        Field("test_date", "Tested on", "date", required=True),
        Field("nox_rate", "NOx in kg/h", "number"), Field("so2_rate", "SO2 in kg/h", "number"),
        Field("co_rate", "CO in kg/h", "number"), Field("particulates_rate", "Particulates in kg/h", "number"),
        Field("compliance_status", "Result", default="PASS", choices=[
            ("PASS", "passed"), ("FAIL", "failed"), ("NON_COMPLIANT", "not compliant"), ("PENDING", "unknown")]))),
    "fuel": RecordKind("Fuel", records.NewFuel, records.add_fuel, (
        Field("recording_date", "Day", "date", required=True),
        Field("quantity", "Quantity", "number", required=True))),
    "incidents": RecordKind("Incident", records.NewIncident, records.add_incident, (
        Field("incident_date", "Day", "date", required=True),
        Field("description", "What happened", required=True))),
}  # fmt: skip


def record_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add the forms; they come before the pages of single generators, whose ids would else take their addresses."""
    for kind in (GENERATOR, PARAMETER):
        _new_page(web, services, access, kind)
    _record_page(web, services, access)


@dataclass(frozen=True)
class NewKind:
    """Something that a document has, such as a generator: its form, and how it is added."""

    place: str
    title: str
    form: type[BaseModel]
    record: type[BaseModel]
    add: Callable[..., Awaitable[UUID]]
    fields: tuple[Field, ...]


GENERATOR = NewKind(
    "generators",
    "Register a generator",
    GeneratorForm,
    records.NewGenerator,
    records.add_generator,
    GENERATOR_FIELDS,
)
PARAMETER = NewKind(
    "sampling",
    "Add a parameter",
    ParameterForm,
    records.NewParameter,
    records.add_parameter,
    PARAMETER_FIELDS,
)


def _new_page(web: APIRouter, services: Services, access: Access, kind: NewKind) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            papers = await queries.changeable_documents(connection)
        about = Field("document_id", "Document", required=True, choices=papers)
        parent = (kind.place.capitalize(), f"/{kind.place}")
        return _form_page(request, access, kind.title, parent, (about, *kind.fields), form)

    async def new(request: Request, actor: writer) -> Response:
        return await shown(request, actor, blank_form())

    async def add(request: Request, actor: writer) -> Response:
        form = await check_form(request, kind.form)
        if form.value is None:
            return await shown(request, actor, form)
        values = form.value.model_dump()
        document = values.pop("document_id")
        try:
            found = await kind.add(services, document, kind.record(**values), user=user_of(actor))
        except AccessDenied:
            raise not_found() from None
        return access.pages.redirect(request, path_of(kind.place, str(found)), flash="Added.", tone="good")

    web.add_api_route(f"/{kind.place}/new", new, methods=["GET"])
    web.add_api_route(f"/{kind.place}/new", add, methods=["POST"])


def _record_page(web: APIRouter, services: Services, access: Access) -> None:
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(
        request: Request, actor: Actor, generator_id: UUID, kind: str, form: CheckedForm[Any]
    ) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await generators.find(connection, generator_id)
        if found is None or not found["may_change"] or kind not in RECORDS:
            raise not_found()
        name, target = found["generator_identifier"], path_of("generators", str(generator_id))
        title = f"{RECORDS[kind].title} of {name}"
        return _form_page(request, access, title, (name, target), RECORDS[kind].fields, form)

    @web.get("/generators/{generator_id}/{kind}/new")
    async def new(request: Request, actor: writer, generator_id: UUID, kind: str) -> Response:
        return await shown(request, actor, generator_id, kind, blank_form())

    @web.post("/generators/{generator_id}/{kind}/new")
    async def add(request: Request, actor: writer, generator_id: UUID, kind: str) -> Response:
        if kind not in RECORDS:
            raise not_found()
        form = await check_form(request, RECORDS[kind].model)
        if form.value is not None:
            try:
                await RECORDS[kind].add(services, generator_id, form.value, user=user_of(actor))
            except AccessDenied:
                raise not_found() from None
            except OblicoreError as error:
                form = form.with_error(RECORDS[kind].fields[0].name, str(error))
        if form.value is None:
            return await shown(request, actor, generator_id, kind, form)
        target = path_of("generators", str(generator_id))
        return access.pages.redirect(request, target, flash="Written down.", tone="good")


def _form_page(
    request: Request,
    access: Access,
    title: str,
    parent: tuple[str, str],
    fields: tuple[Field, ...],
    form: CheckedForm[Any],
) -> Response:
    return access.pages.render(
        request,
        "record_form.html",
        title=title,
        crumbs=[Crumb(*parent), Crumb(title)],
        back=parent[1],
        fields=fields,
        form=form,
        today=datetime.now(UTC).date(),
        status=422 if form.errors else 200,
    )
