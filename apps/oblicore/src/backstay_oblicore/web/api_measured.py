"""Routes of what is measured: results, running hours, what a generator did, annual reports."""

from typing import Any, Literal
from uuid import UUID

from fastapi import APIRouter, Response

from backstay_oblicore import measuring, records, reporting
from backstay_oblicore.services import Services
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import AerRequest, HoursBody, ResultBody, report_file, told_in_http


def measured_routes(api: APIRouter, services: Services, writer: Any) -> None:
    """Laboratory results and running hours."""

    @api.post("/parameters/{parameter_id}/results", status_code=201)
    async def add_result(actor: writer, parameter_id: UUID, body: ResultBody) -> dict[str, Any]:
        async with told_in_http():
            stands = await measuring.record_result(
                services, parameter_id, day=body.sample_date, value=body.value, user=user_of(actor)
            )
            return {"standing": stands}

    @api.post("/generators/{generator_id}/run-hours", status_code=201)
    async def add_hours(actor: writer, generator_id: UUID, body: HoursBody) -> dict[str, Any]:
        async with told_in_http():
            await measuring.record_hours(
                services,
                generator_id,
                day=body.recording_date,
                hours=body.hours,
                purpose=body.purpose,
                user=user_of(actor),
            )
            return {"recorded": True}


def record_routes(api: APIRouter, services: Services, writer: Any) -> None:
    """Generators and parameters of a document, and records of a generator."""

    @api.post("/documents/{document_id}/generators", status_code=201)
    async def add_generator(actor: writer, document_id: UUID, body: records.NewGenerator) -> dict[str, Any]:
        async with told_in_http():
            found = await records.add_generator(services, document_id, body, user=user_of(actor))
            return {"generator_id": str(found)}

    @api.post("/documents/{document_id}/parameters", status_code=201)
    async def add_parameter(actor: writer, document_id: UUID, body: records.NewParameter) -> dict[str, Any]:
        async with told_in_http():
            found = await records.add_parameter(services, document_id, body, user=user_of(actor))
            return {"parameter_id": str(found)}

    @api.post("/generators/{generator_id}/stack-tests", status_code=201)
    async def add_stack_test(actor: writer, generator_id: UUID, body: records.NewStackTest) -> dict[str, Any]:
        async with told_in_http():
            await records.add_stack_test(services, generator_id, body, user=user_of(actor))
            return {"recorded": True}

    @api.post("/generators/{generator_id}/fuel", status_code=201)
    async def add_fuel(actor: writer, generator_id: UUID, body: records.NewFuel) -> dict[str, Any]:
        async with told_in_http():
            await records.add_fuel(services, generator_id, body, user=user_of(actor))
            return {"recorded": True}

    @api.post("/generators/{generator_id}/incidents", status_code=201)
    async def add_incident(actor: writer, generator_id: UUID, body: records.NewIncident) -> dict[str, Any]:
        async with told_in_http():
            await records.add_incident(services, generator_id, body, user=user_of(actor))
            return {"recorded": True}


def report_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """Annual emissions reports."""

    @api.post("/module-3/aer/generate", status_code=202)
    async def generate_aer(actor: writer, body: AerRequest) -> dict[str, Any]:
        async with told_in_http():
            job = await reporting.generate(services, body.model_dump(), user=user_of(actor))
            return {"job_id": str(job.id)}

    @api.get("/module-3/aer/{aer_id}")
    async def aer(actor: reader, aer_id: UUID, form: Literal["pdf", "csv", "json"] = "json") -> Response:
        return await report_file(services, aer_id, form, user=user_of(actor))
