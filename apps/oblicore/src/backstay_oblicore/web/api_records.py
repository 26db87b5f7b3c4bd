"""Routes that add what a site has and is measured at."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from fastapi import APIRouter

from backstay_oblicore import records
from backstay_oblicore.domain.errors import OblicoreError
from backstay_oblicore.services import Services
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import problem_of


def record_routes(api: APIRouter, services: Services, writer: Any) -> None:
    """Add generators and parameters to a document, and records to a generator."""

    @api.post("/documents/{document_id}/generators", status_code=201)
    async def add_generator(actor: writer, document_id: UUID, body: records.NewGenerator) -> dict[str, Any]:
        async with _told():
            found = await records.add_generator(services, document_id, body, user=user_of(actor))
            return {"generator_id": str(found)}

    @api.post("/documents/{document_id}/parameters", status_code=201)
    async def add_parameter(actor: writer, document_id: UUID, body: records.NewParameter) -> dict[str, Any]:
        async with _told():
            found = await records.add_parameter(services, document_id, body, user=user_of(actor))
            return {"parameter_id": str(found)}

    @api.post("/generators/{generator_id}/stack-tests", status_code=201)
    async def add_stack_test(actor: writer, generator_id: UUID, body: records.NewStackTest) -> dict[str, Any]:
        async with _told():
            await records.add_stack_test(services, generator_id, body, user=user_of(actor))
            return {"recorded": True}

    @api.post("/generators/{generator_id}/fuel", status_code=201)
    async def add_fuel(actor: writer, generator_id: UUID, body: records.NewFuel) -> dict[str, Any]:
        async with _told():
            await records.add_fuel(services, generator_id, body, user=user_of(actor))
            return {"recorded": True}

    @api.post("/generators/{generator_id}/incidents", status_code=201)
    async def add_incident(actor: writer, generator_id: UUID, body: records.NewIncident) -> dict[str, Any]:
        async with _told():
            await records.add_incident(services, generator_id, body, user=user_of(actor))
            return {"recorded": True}


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    """Say in HTTP what is wrong."""
    try:
        yield
    except OblicoreError as error:
        raise problem_of(error) from error
