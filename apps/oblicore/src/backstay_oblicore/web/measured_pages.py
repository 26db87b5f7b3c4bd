"""One generator with its run hours and forecast, one parameter with its results and trend; both take new figures."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from backstay.kit import Actor, CheckedForm, Crumb, blank_form, check_form, not_found, path_of
from backstay_oblicore import measuring
from backstay_oblicore.domain import calendar, run_hours, sampling
from backstay_oblicore.domain.errors import AccessDenied, OblicoreError
from backstay_oblicore.domain.run_hours import Purpose, Run
from backstay_oblicore.domain.sampling import LimitKind, Standing
from backstay_oblicore.domain.words import Regulator
from backstay_oblicore.services import Services
from backstay_oblicore.store import generators, parameters
from backstay_oblicore.web.access import Access, user_of

MONTHS_SHOWN = 13


class Hours(BaseModel):
    """Running hours as they are typed in."""

    day: date
    hours: Decimal
    purpose: Purpose = Purpose.OTHER


class Result(BaseModel):
    """A laboratory result as it is typed in."""

    day: date
    value: Decimal


def measured_pages(web: APIRouter, services: Services, access: Access) -> None:
    """Add both pages and their forms."""
    _generator_page(web, services, access)
    _parameter_page(web, services, access)


def _generator_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, generator_id: UUID, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await generators.find(connection, generator_id)
            runs = await generators.runs(connection, generator_id)
            records = await generators.records_of(connection, generator_id)
        if found is None:
            raise not_found()
        today = datetime.now(UTC).date()
        return access.pages.render(
            request,
            "generator.html",
            title=found["generator_identifier"],
            crumbs=[Crumb("Generators", "/generators"), Crumb(found["generator_identifier"])],
            generator=found,
            figures=generator_figures(found, runs, today),
            months=hours_by_month(runs, today),
            runs=[{"day": run.day, "hours": run.hours, "purpose": run.purpose} for run in reversed(runs)][
                :200
            ],
            records=records,
            purposes=[(one.value, one.value.capitalize()) for one in Purpose],
            form=form,
            today=today,
            status=422 if form.errors else 200,
        )

    @web.get("/generators/{generator_id}")
    async def generator(request: Request, actor: reader, generator_id: UUID) -> Response:
        return await shown(request, actor, generator_id, blank_form())

    @web.post("/generators/{generator_id}/run-hours")
    async def add_hours(request: Request, actor: writer, generator_id: UUID) -> Response:
        form = await check_form(request, Hours)
        if form.value is not None:
            try:
                await measuring.record_hours(
                    services, generator_id, user=user_of(actor), **form.value.model_dump()
                )
            except AccessDenied:
                raise not_found() from None
            except OblicoreError as error:
                form = form.with_error("hours", str(error))
        if form.value is None:
            return await shown(request, actor, generator_id, form)
        target = path_of("generators", str(generator_id))
        return access.pages.redirect(request, target, flash="The hours are recorded.")


def _parameter_page(web: APIRouter, services: Services, access: Access) -> None:
    reader = Annotated[Actor, Depends(access.auth.require("read"))]
    writer = Annotated[Actor, Depends(access.auth.require("write"))]

    async def shown(request: Request, actor: Actor, parameter_id: UUID, form: CheckedForm[Any]) -> Response:
        async with services.database.as_user(user_of(actor)) as connection:
            found = await parameters.find(connection, parameter_id)
            rows = await parameters.results(connection, parameter_id)
        if found is None:
            raise not_found()
        today = datetime.now(UTC).date()
        return access.pages.render(
            request,
            "parameter.html",
            title=found["parameter_type"],
            crumbs=[Crumb("Sampling", "/sampling"), Crumb(found["parameter_type"])],
            parameter=found,
            limit=str(parameters.limit_of(found)),
            figures=parameter_figures(found, rows),
            curve=result_curve(found, rows),
            results=[dict(row) for row in rows],
            form=form,
            today=today,
            status=422 if form.errors else 200,
        )

    @web.get("/sampling/{parameter_id}")
    async def parameter(request: Request, actor: reader, parameter_id: UUID) -> Response:
        return await shown(request, actor, parameter_id, blank_form())

    @web.post("/sampling/{parameter_id}/results")
    async def add_result(request: Request, actor: writer, parameter_id: UUID) -> Response:
        form = await check_form(request, Result)
        stands = Standing.NO_LIMIT
        if form.value is not None:
            try:
                stands = await measuring.record_result(
                    services, parameter_id, user=user_of(actor), **form.value.model_dump()
                )
            except AccessDenied:
                raise not_found() from None
            except OblicoreError as error:
                form = form.with_error("value", str(error))
        if form.value is None:
            return await shown(request, actor, parameter_id, form)
        is_bad = stands is Standing.EXCEEDED
        told = "It exceeds the limit: those who look after the site are told." if is_bad else "Recorded."
        target = path_of("sampling", str(parameter_id))
        return access.pages.redirect(request, target, flash=told, tone="bad" if is_bad else "good")


def generator_figures(row: Any, runs: Sequence[Run], today: date) -> dict[str, Any]:
    """Work out what the tiles of a generator say."""
    start = run_hours.limit_year_start(row["anniversary_date"], today)
    used = run_hours.total(runs, since=start, until=today)
    limit = row["annual_run_hour_limit"]
    share = run_hours.percentage(used, limit)
    testing = run_hours.total(runs, since=start, until=today, purpose=Purpose.TESTING)
    ends = calendar.add_months(start, 12)
    reached = run_hours.forecast(runs, since=start, today=today, limit=limit)
    return {
        "start": start,
        "used": run_hours.plain(used),
        "limit": run_hours.plain(limit) if limit is not None else None,
        "share": share,
        "tone": "good" if share is None or share < 80 else "bad" if share >= 100 else "warn",
        "testing": run_hours.plain(testing),
        "testing_limit": run_hours.TESTING_LIMIT_HOURS,
        "emergency": run_hours.plain(
            run_hours.total(runs, since=start, until=today, purpose=Purpose.EMERGENCY)
        ),
        "reached": reached if reached is not None and reached < ends else None,
        "average": run_hours.rolling_average(runs, today=today, years=5),
    }


def hours_by_month(runs: Sequence[Run], today: date) -> list[tuple[str, dict[str, float]]]:
    """Add up the hours of the last months by what the generator ran for, for the chart."""
    first = calendar.add_months(today.replace(day=1), 1 - MONTHS_SHOWN)
    columns = []
    for number in range(MONTHS_SHOWN):
        since = calendar.add_months(first, number)
        until = calendar.period_end(since, 1)
        parts = {
            one.value.capitalize(): float(run_hours.total(runs, since=since, until=until, purpose=one))
            for one in Purpose
        }
        columns.append((f"{since:%b %y}", parts))
    return columns


def parameter_figures(row: Any, results: Sequence[Any]) -> dict[str, Any]:
    """Work out what the tiles of a parameter say."""
    newest = results[0] if results else None
    frequency = row["sampling_frequency"] or sampling.default_frequency(row["parameter_type"])
    due = sampling.next_sample(
        frequency,
        last=newest["sample_date"] if newest else None,
        created=row["created_at"].date(),
        weekday=row["sampling_weekday"],
        regulator=Regulator(row["regulator"]),
    )
    trend = sampling.trend_per_month([(one["sample_date"], one["recorded_value"]) for one in results])
    return {
        "newest": newest,
        "frequency": frequency,
        "next": due.date,
        "trend": f"{trend:+}" if trend is not None else None,
        "exceeded": sum(one["standing"] == Standing.EXCEEDED for one in results),
    }


def result_curve(row: Any, results: Sequence[Any]) -> dict[str, Any]:
    """Lay the results beside their limit, oldest first."""
    rows = list(reversed(results[:60]))
    limit = parameters.limit_of(row)
    series: dict[str, list[float]] = {"Result": [float(one["recorded_value"]) for one in rows]}
    if limit.maximum is not None and limit.kind is not LimitKind.MINIMUM:
        series["Highest allowed"] = [float(limit.maximum)] * len(rows)
    if limit.minimum is not None and limit.kind is not LimitKind.MAXIMUM:
        series["Lowest allowed"] = [float(limit.minimum)] * len(rows)
    return {"labels": [f"{one['sample_date']:%-d %b %y}" for one in rows], "series": series}
