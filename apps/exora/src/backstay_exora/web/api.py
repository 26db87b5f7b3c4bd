"""The HTTP API: upload, look, decide, retract, export."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, File, Form, Query, UploadFile
from fastapi.responses import StreamingResponse

from backstay.kit import (
    Actor,
    Authentication,
    Event,
    Problem,
    StrictModel,
    StrictRoute,
    event_stream,
    not_found,
    problem_responses,
    read_upload,
)
from backstay_exora import retraction, review
from backstay_exora.app import settings
from backstay_exora.documents import upload
from backstay_exora.domain.failures import ExoraError
from backstay_exora.export import export_patient
from backstay_exora.files import MOST_BYTES
from backstay_exora.overview import FINAL_STATUSES, document_overview, patient_facts, status_of
from backstay_exora.store.connections import connect
from backstay_exora.store.documents import list_documents
from backstay_exora.store.patients import list_patients


class CorrectionBody(StrictModel):
    """What a person reads where the machine was unsure."""

    name: str
    dose: str = ""


class DecisionBody(StrictModel):
    """What a reviewer decides."""

    decision: str
    reason: str
    patient_id: UUID | None = None
    correction: CorrectionBody | None = None


class ReasonBody(StrictModel):
    """Why something is done."""

    reason: str


Limit = Annotated[int, Query(ge=1, le=200)]
_LOOK_SECONDS = 0.5


def make_api(auth: Authentication) -> APIRouter:
    """The routes below /api."""
    api = APIRouter(
        prefix="/api", route_class=StrictRoute, responses=problem_responses(401, 403, 404, 409, 422)
    )
    _add_documents(api, auth)
    _add_reviews_and_patients(api, auth)
    return api


def _add_documents(api: APIRouter, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("documents.read"))]
    uploader = Annotated[Actor, Depends(auth.require("documents.upload"))]

    @api.post("/documents", status_code=201)
    async def add_document(
        actor: uploader,
        file: Annotated[UploadFile, File()],
        patient_id: Annotated[UUID, Form()],
        is_urgent: Annotated[bool, Form()] = False,
    ) -> dict[str, Any]:
        content = await read_upload(file, most=MOST_BYTES)
        try:
            done = await upload(
                actor.tenant,
                patient_id,
                file.filename or "document",
                content,
                by=actor.name,
                is_urgent=is_urgent,
            )
        except ExoraError as error:
            raise Problem(422, error.code.lower(), str(error)) from error
        return {"id": str(done.id), "is_new": done.is_new}

    @api.get("/documents")
    async def documents(
        actor: reader, status: str | None = None, patient_id: UUID | None = None, limit: Limit = 50
    ) -> list[dict[str, Any]]:
        async with connect(settings.database_url) as connection:
            found = await list_documents(
                connection, actor.tenant, patient=patient_id, status=status, most=limit
            )
        return [asdict(document) for document in found]

    @api.get("/documents/{document_id}/events")
    async def document_events(actor: reader, document_id: UUID) -> StreamingResponse:
        """Server-sent events: the document's status at once, and whenever it changes; ends when it is final."""
        if await status_of(actor.tenant, document_id) is None:
            raise not_found()
        return event_stream(_statuses(actor.tenant, document_id))

    @api.get("/documents/{document_id}")
    async def one_document(actor: reader, document_id: UUID) -> dict[str, Any]:
        found = await document_overview(actor.tenant, document_id)
        if found is None:
            raise not_found()
        return found


def _add_reviews_and_patients(api: APIRouter, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("documents.read"))]
    reviewer = Annotated[Actor, Depends(auth.require("reviews.decide"))]
    clinician = Annotated[Actor, Depends(auth.require("patients.export"))]

    @api.get("/reviews")
    async def reviews(actor: reviewer) -> list[dict[str, Any]]:
        return await review.open_reviews(actor.tenant)

    @api.post("/reviews/{review_id}/decision")
    async def decide(actor: reviewer, review_id: UUID, body: DecisionBody) -> dict[str, Any]:
        try:
            document = await review.decide(
                actor.tenant,
                review_id,
                body.decision,
                by=actor.name,
                reason=body.reason,
                patient_id=body.patient_id,
                correction=review.Correction(body.correction.name, body.correction.dose)
                if body.correction
                else None,
            )
        except review.ReviewRefused as error:
            raise Problem(409, "review_refused", str(error)) from error
        return {"document": str(document)}

    @api.post("/reviews/{review_id}/undo")
    async def undo(actor: reviewer, review_id: UUID, body: ReasonBody) -> dict[str, Any]:
        try:
            await review.undo(actor.tenant, review_id, by=actor.name, reason=body.reason)
        except review.ReviewRefused as error:
            raise Problem(409, "review_refused", str(error)) from error
        return {"status": "open"}

    @api.post("/documents/{document_id}/retract")
    async def retract(actor: reviewer, document_id: UUID, body: ReasonBody) -> dict[str, Any]:
        try:
            return await retraction.retract(actor.tenant, document_id, by=actor.name, reason=body.reason)
        except retraction.RetractionRefused as error:
            raise Problem(409, "retraction_refused", str(error)) from error

    @api.get("/patients")
    async def patients(actor: reader) -> list[dict[str, Any]]:
        async with connect(settings.database_url) as connection:
            return await list_patients(connection, actor.tenant)

    @api.get("/patients/{patient_id}/facts")
    async def facts(actor: reader, patient_id: UUID) -> list[dict[str, Any]]:
        found = await patient_facts(actor.tenant, patient_id)
        if found is None:
            raise not_found()
        return found

    @api.get("/patients/{patient_id}/export")
    async def export(actor: clinician, patient_id: UUID) -> dict[str, Any]:
        bundle = await export_patient(actor.tenant, patient_id, by=actor.name, now=datetime.now(UTC))
        if bundle is None:
            raise not_found()
        return bundle


async def _statuses(practice: str, document_id: UUID) -> AsyncIterator[Event]:
    seen: str | None = None
    number = 0
    while (status := await status_of(practice, document_id)) is not None:
        if status != seen:
            seen, number = status, number + 1
            yield Event({"status": status}, name="status", id=str(number))
        if status in FINAL_STATUSES:
            return
        await asyncio.sleep(_LOOK_SECONDS)
