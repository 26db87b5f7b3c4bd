"""The pages: documents, upload, reviews, patients."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response

from backstay.kit import Actor, Authentication, Box, Crumb, Pages, Tone, not_found, path_of
from backstay_exora import retraction, review
from backstay_exora.app import settings
from backstay_exora.documents import upload
from backstay_exora.domain.failures import ExoraError
from backstay_exora.files import MOST_BYTES, storage_of
from backstay_exora.overview import document_overview, patient_overview
from backstay_exora.store.connections import connect
from backstay_exora.store.documents import list_documents, pages_of
from backstay_exora.store.patients import get_patient, list_patients
from backstay_exora.web.job_pages import add_job_pages

_FACT_TONES: dict[str, Tone] = {"medication": "info", "condition": "accent", "allergy": "bad"}


def make_pages(pages: Pages, auth: Authentication) -> APIRouter:
    """The routes of the pages."""
    web = pages.router()
    _add_documents(web, pages, auth)
    _add_reviews(web, pages, auth)
    _add_patients(web, pages, auth)
    add_job_pages(web, pages, auth)
    return web


def _add_documents(web: APIRouter, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("documents.read"))]
    uploader = Annotated[Actor, Depends(auth.require("documents.upload"))]

    @web.get("/")
    async def first(request: Request, actor: reader) -> Response:
        return pages.redirect(request, "/documents")

    @web.get("/documents")
    async def listed(request: Request, actor: reader, status: str = "") -> Response:
        async with connect(settings.database_url) as connection:
            rows = await list_documents(connection, actor.tenant, status=status or None)
        shown = [_document_row(row) for row in rows]
        return pages.render(request, "documents.html", title="Documents", rows=shown)

    @web.get("/documents/{document_id}")
    async def document(
        request: Request, actor: reader, document_id: UUID, fact: str = "", page: int = 1
    ) -> Response:
        found = await document_overview(actor.tenant, document_id)
        if found is None:
            raise not_found()
        chosen = next((entry for entry in found["facts"] if str(entry["id"]) == fact), None)
        shown = chosen["page"] if chosen else page
        crumbs = [Crumb("Documents", "/documents"), Crumb(found["filename"])]
        return pages.render(
            request,
            "document.html",
            title=found["filename"],
            crumbs=crumbs,
            document=found,
            facts=[_said(found["id"], entry) for entry in found["facts"]],
            passes=[{**job, "what": _pass_name(job["job_name"])} for job in found["jobs"]],
            page=next((entry for entry in found["pages"] if entry["page"] == shown), None),
            boxes=_boxes(found, shown, fact),
            chosen=fact,
        )

    @web.get("/documents/{document_id}/pages/{number}.png")
    async def picture(request: Request, actor: reader, document_id: UUID, number: int) -> Response:
        found = await document_overview(actor.tenant, document_id)
        async with connect(settings.database_url) as connection:
            known = await pages_of(connection, document_id) if found else []
        place = next((entry["image_path"] for entry in known if entry["page"] == number), None)
        if place is None:
            raise not_found()
        content = await storage_of(settings).get(place)
        return Response(content, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})

    @web.get("/upload")
    async def form(request: Request, actor: uploader) -> Response:
        return await _upload_page(request, pages, actor)

    @web.post("/upload")
    async def send(request: Request, actor: uploader) -> Response:
        sent = await request.form()
        told: list[dict[str, Any]] = []
        patient = str(sent.get("patient_id", ""))
        for file in sent.getlist("files"):
            if isinstance(file, str) or not file.filename:
                continue
            content = await file.read(MOST_BYTES + 1)  # larger ones are refused by `upload`
            told.append(
                await _send_one(
                    actor, patient, file.filename, content, is_urgent=sent.get("is_urgent") == "yes"
                )
            )
        return await _upload_page(request, pages, actor, told=told, status=200 if told else 422)


def _add_reviews(web: APIRouter, pages: Pages, auth: Authentication) -> None:
    reviewer = Annotated[Actor, Depends(auth.require("reviews.decide"))]

    @web.get("/reviews")
    async def inbox(request: Request, actor: reviewer) -> Response:
        waiting = await review.open_reviews(actor.tenant)
        rows = [
            {**row, "href": path_of("reviews", row["id"]), "why": "; ".join(row["reasons"])}
            for row in waiting
        ]
        return pages.render(request, "reviews.html", title="Reviews", rows=rows)

    @web.get("/reviews/{review_id}")
    async def one(request: Request, actor: reviewer, review_id: UUID, page: int = 0) -> Response:
        waiting = await review.open_reviews(actor.tenant)
        found = next((row for row in waiting if row["id"] == review_id), None)
        if found is None:
            # Somebody else was quicker, or the document was retracted.
            return pages.redirect(request, "/reviews", flash="That question is settled.", tone="info")
        document = await document_overview(actor.tenant, found["shell_file_id"])
        assert document is not None, "the review refers to it"
        async with connect(settings.database_url) as connection:
            others = await list_patients(connection, actor.tenant)
            patient = await get_patient(connection, actor.tenant, found["patient_id"])
        shown = page or _first_page(document, found)
        return pages.render(
            request,
            "review.html",
            title=f"Review {found['filename']}",
            crumbs=[Crumb("Reviews", "/reviews"), Crumb(found["filename"])],
            review=found,
            document=document,
            identifiers=_identifiers(document, patient or {}),
            page=next((entry for entry in document["pages"] if entry["page"] == shown), None),
            boxes=_identity_boxes(document, found, shown),
            left=len(waiting),
            patients=[
                (str(row["id"]), f"{row['family_name']}, {row['given_names']}, born {row['date_of_birth']}")
                for row in others
                if row["id"] != found["patient_id"]
            ],
        )

    @web.post("/reviews/{review_id}")
    async def decide(request: Request, actor: reviewer, review_id: UUID) -> Response:
        sent = await request.form()
        decision = str(sent.get("decision", ""))
        correction = review.Correction(str(sent.get("name", "")), str(sent.get("dose", "")))
        try:
            await review.decide(
                actor.tenant,
                review_id,
                decision,
                by=actor.name,
                reason=str(sent.get("reason", "")),
                patient_id=_uuid(str(sent.get("patient_id", ""))) if decision == "move" else None,
                correction=correction if "name" in sent and decision == "approve" else None,
            )
        except review.ReviewRefused as error:
            return pages.redirect(request, path_of("reviews", review_id), flash=str(error), tone="bad")
        waiting = await review.open_reviews(actor.tenant)
        onward = path_of("reviews", waiting[0]["id"]) if waiting else "/reviews"
        return pages.redirect(request, onward, flash=f"Decided: {decision}.", tone="good")

    @web.post("/reviews/{review_id}/undo")
    async def undo(request: Request, actor: reviewer, review_id: UUID) -> Response:
        sent = await request.form()
        try:
            await review.undo(actor.tenant, review_id, by=actor.name, reason=str(sent.get("reason", "")))
        except review.ReviewRefused as error:
            return pages.redirect(request, "/documents", flash=str(error), tone="bad")
        return pages.redirect(request, path_of("reviews", review_id), flash="Undone; decide again.")

    @web.post("/documents/{document_id}/retract")
    async def retract(request: Request, actor: reviewer, document_id: UUID) -> Response:
        sent = await request.form()
        try:
            done = await retraction.retract(
                actor.tenant, document_id, by=actor.name, reason=str(sent.get("reason", ""))
            )
        except retraction.RetractionRefused as error:
            return pages.redirect(request, path_of("documents", document_id), flash=str(error), tone="bad")
        count = sum(done.values())
        return pages.redirect(
            request, path_of("documents", document_id), flash=f"Retracted; {count} rows withdrawn."
        )


def _add_patients(web: APIRouter, pages: Pages, auth: Authentication) -> None:
    reader = Annotated[Actor, Depends(auth.require("patients.read"))]

    @web.get("/patients")
    async def listed(request: Request, actor: reader) -> Response:
        async with connect(settings.database_url) as connection:
            rows = await list_patients(connection, actor.tenant)
        shown = [{**row, "href": path_of("patients", row["id"])} for row in rows]
        return pages.render(request, "patients.html", title="Patients", rows=shown)

    @web.get("/patients/{patient_id}")
    async def one(request: Request, actor: reader, patient_id: UUID) -> Response:
        found = await patient_overview(actor.tenant, patient_id)
        if found is None:
            raise not_found()
        facts: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _FACT_TONES}
        for fact in found["facts"]:
            facts[fact["kind"]].append(_said(fact["shell_file_id"], fact))
        name = f"{found['patient']['given_names']} {found['patient']['family_name']}"
        return pages.render(
            request,
            "patient.html",
            title=name,
            crumbs=[Crumb("Patients", "/patients"), Crumb(name)],
            patient=found["patient"],
            facts=facts,
            rows=[_document_row(row) for row in found["documents"]],
        )


async def _upload_page(
    request: Request,
    pages: Pages,
    actor: Actor,
    *,
    told: list[dict[str, Any]] | None = None,
    status: int = 200,
) -> Response:
    async with connect(settings.database_url) as connection:
        patients = await list_patients(connection, actor.tenant)
    choices = [(str(row["id"]), f"{row['family_name']}, {row['given_names']}") for row in patients]
    return pages.render(
        request, "upload.html", title="Upload", patients=choices, told=told or [], status=status
    )


async def _send_one(
    actor: Actor, patient: str, filename: str, content: bytes, *, is_urgent: bool
) -> dict[str, Any]:
    told = {"filename": filename, "tone": "bad", "href": ""}
    if (stated := _uuid(patient)) is None:
        return {**told, "result": "was not stored: choose the patient whom it is about"}
    try:
        done = await upload(actor.tenant, stated, filename, content, by=actor.name, is_urgent=is_urgent)
    except ExoraError as error:
        return {**told, "result": f"was not stored: {error}"}
    href = path_of("documents", done.id)
    if done.is_new:
        return {**told, "result": "is being read", "tone": "good", "href": href}
    whose = "for this patient" if done.patient_id == stated else "for another patient"
    return {**told, "result": f"is the same file as one that is there {whose}", "tone": "warn", "href": href}


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _document_row(document: Any) -> dict[str, Any]:
    return {
        "filename": document.filename,
        "status": document.status,
        "pages": document.page_count,
        "uploaded_at": document.uploaded_at,
        "uploaded_by": document.uploaded_by,
        "href": path_of("documents", document.id),
    }


def _said(document_id: object, fact: dict[str, Any]) -> dict[str, Any]:
    """A fact in one line, with the way to its pixels."""
    said = " ".join(part for part in (fact["name"], fact["dose"], fact["frequency"]) if part)
    if fact["reaction"]:
        said += f" ({fact['reaction']})"
    return {**fact, "said": said, "href": f"{path_of('documents', document_id)}?fact={fact['id']}"}


def _pass_name(job_name: str) -> str:
    """`Pass 2: letter.pdf` as `Pass 2`: the page says already which letter."""
    head, colon, _ = job_name.partition(":")
    return head if colon else "Reading"


def _boxes(document: dict[str, Any], page: int, chosen: str) -> list[Box]:
    """The facts' boxes on a page; the chosen fact's stands out."""
    found = []
    for fact in document["facts"]:
        tone: Tone = "warn" if str(fact["id"]) == chosen else _FACT_TONES[fact["kind"]]
        for box in fact["boxes"]:
            if box["page"] == page:
                label = f"{fact['name']} {fact['dose']}".strip()
                found.append(
                    _box(box, label, tone, f"{path_of('documents', document['id'])}?fact={fact['id']}")
                )
    return found


def _first_page(document: dict[str, Any], waiting: dict[str, Any]) -> int:
    """The page where what is asked about stands."""
    boxes = waiting["boxes"] or [box for marker in _markers(document) for box in marker["boxes"]]
    return min((int(box["page"]) for box in boxes), default=1)


def _identity_boxes(document: dict[str, Any], waiting: dict[str, Any], page: int) -> list[Box]:
    if waiting["boxes"]:
        return [_box(box, waiting["subject"], "warn", "") for box in waiting["boxes"] if box["page"] == page]
    return [
        _box(box, marker["kind"], "good" if marker["agreement"] == "matches" else "bad", "")
        for marker in _markers(document)
        for box in marker["boxes"]
        if box["page"] == page
    ]


def _identifiers(document: dict[str, Any], patient: dict[str, Any]) -> list[dict[str, Any]]:
    """Each identifier as it is on record, as it was read, and whether both agree."""
    on_record = {
        "name": f"{patient.get('given_names', '')} {patient.get('family_name', '')}".strip(),
        "date of birth": patient.get("date_of_birth"),
        "gender": patient.get("gender"),
        "address": patient.get("address"),
        "record number": patient.get("record_number"),
        "IHI": patient.get("ihi"),
    }
    return [
        {**marker, "on_record": on_record.get(marker["kind"]), "read": ", ".join(marker["read"])}
        for marker in _markers(document)
    ]


def _markers(document: dict[str, Any]) -> list[dict[str, Any]]:
    gate = document["gate"]
    return list(gate["identity_markers"]) if gate else []


def _box(box: dict[str, Any], label: str, tone: Tone, href: str) -> Box:
    return Box(
        box["left"], box["top"], box["right"] - box["left"], box["bottom"] - box["top"], label, tone, href
    )
