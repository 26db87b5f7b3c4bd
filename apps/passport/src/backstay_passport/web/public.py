"""What anybody can open: the page behind a label, the verify page, keys and schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, FastAPI, File, Form, Request, Response, UploadFile

from backstay.kit import Pages, Problem, not_found
from backstay_passport.actions.exports import present_issuer
from backstay_passport.actions.verification import MAX_UPLOAD, verify_content
from backstay_passport.domain.bundle import disclosed_payload
from backstay_passport.domain.canonical import encode
from backstay_passport.domain.digital_link import label_url
from backstay_passport.domain.proof import disclosed
from backstay_passport.domain.qr import qr_png
from backstay_passport.domain.tiers import Tier
from backstay_passport.domain.verify import holds, verify
from backstay_passport.export import MEDIA_TYPES, ExportFormat
from backstay_passport.export.credential import credential
from backstay_passport.export.linked_data import linked_data
from backstay_passport.export.schemas import context, json_schema, xsd
from backstay_passport.services import Services
from backstay_passport.store import access, passports
from backstay_passport.web.lookup import Shown, by_label, earlier_lives, tiers_of
from backstay_passport.web.views import footprint_bars, sections

HTML = "text/html"
JSON = "application/json"
# The name that credentials had before their standard was finished is still asked for.
FORMATS = {
    MEDIA_TYPES[ExportFormat.JSON_LD]: ExportFormat.JSON_LD,
    MEDIA_TYPES[ExportFormat.VC]: ExportFormat.VC,
    "application/vc+ld+json": ExportFormat.VC,
}
OFFERED = (HTML, JSON, *FORMATS)


def install(app: FastAPI, services: Services, pages: Pages) -> None:
    """Add the public routes."""
    router = APIRouter(include_in_schema=True, tags=["public"])

    # A serial number may hold a slash, which a label writes as %2F.
    @router.get("/01/{gtin}/21/{serial:path}", response_model=None)
    def passport(request: Request, gtin: str, serial: str, token: str = "") -> Response:
        """Return the passport behind a label, as page, JSON, JSON-LD or credential by what the caller accepts."""
        return _passport(services, pages, request, (gtin, serial), token)

    @router.get("/01/{gtin}", response_model=None)
    def model_passport(request: Request, gtin: str, token: str = "") -> Response:
        """Return the passport of a model, in the same forms."""
        return _passport(services, pages, request, (gtin, None), token)

    @router.get("/proof/{version_id}.png", response_model=None)
    def proof_code(version_id: str) -> Response:
        """Return the code that proves a version."""
        if not is_uuid(version_id):
            raise not_found()
        with services.database.read() as connection:
            row = passports.any_version(connection, version_id)
        if row is None or row["qr_png"] is None:
            raise not_found()
        return Response(bytes(row["qr_png"]), media_type="image/png")

    @router.get("/label/{gtin}/{serial:path}.png", response_model=None)
    def label_code(gtin: str, serial: str) -> Response:
        """Return the code of a label, which opens the page."""
        if by_label(services, gtin, serial) is None:
            raise not_found()
        url = label_url(services.settings.public_url, gtin, serial)
        return Response(qr_png(url, scale=8), media_type="image/png")

    @router.get("/keys.json")
    def keys() -> list[dict[str, str]]:
        """Return the public halves of all signing keys."""
        with services.database.read() as connection:
            rows = access.public_keys(connection)
        return [{"key_id": row["key_id"], "public_key": bytes(row["public_key"]).hex()} for row in rows]

    @router.get("/schemas/{name}", response_model=None)
    def schema(name: str) -> Response:
        """Return a schema: battery-passport.xsd, context.jsonld, or <submodel>.schema.json."""
        return _schema(name)

    app.include_router(router)
    _install_verify(app, services, pages)


def _passport(
    services: Services, pages: Pages, request: Request, label: tuple[str, str | None], token: str
) -> Response:
    found = by_label(services, *label)
    if found is None:
        raise not_found()
    tiers, name = tiers_of(services, found, token or _bearer(request))
    wanted = best_type(request.headers.get("accept", ""))
    if wanted != HTML:
        return _document(services, found, tiers, wanted)
    return pages.render(
        request,
        "passport.html",
        title="Battery passport",
        found=found,
        audience=name,
        gtin=label[0],
        serial=label[1],
        sections=sections(
            found.payload, found.proof, tiers, rules_source=found.rules_source, documents=found.documents
        ),
        bars=footprint_bars(found.payload),
        lives=earlier_lives(services, found) if Tier.INTEREST_UNIT in tiers else [],
        checks=verify(passports.artifacts(found.row)),
        hidden=sum(1 for one in disclosed(found.proof, tiers)["leaves"] if "salt" not in one),
    )


def _install_verify(app: FastAPI, services: Services, pages: Pages) -> None:
    web = APIRouter(include_in_schema=False)

    @web.get("/", response_model=None)
    def front(request: Request) -> Response:
        return pages.render(request, "front.html", title="Battery passports")

    @web.get("/verify", response_model=None)
    def form(request: Request) -> Response:
        return pages.render(request, "verify.html", title="Verify a passport", checks=None, text="")

    # Nothing is changed by a verification, so that it needs no token of a form.
    @web.post("/verify", response_model=None)
    def check(
        request: Request, text: Annotated[str, Form()] = "", file: Annotated[UploadFile | None, File()] = None
    ) -> Response:
        content = file.file.read(MAX_UPLOAD + 1) if file is not None and file.filename else b""
        version_id, checks = verify_content(services, text, content)
        return pages.render(
            request,
            "verify.html",
            title="Verify a passport",
            checks=checks,
            ok=holds(checks),
            version_id=version_id,
            text=text,
        )

    app.include_router(web)


def is_uuid(text: str) -> bool:
    """True if this can be an id."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def best_type(accept: str) -> str:
    """Return the type that the caller likes best of those we have; a page if it says nothing."""
    ranked: list[tuple[float, int, str]] = []
    for place, part in enumerate(accept.split(",")):
        name, _, rest = part.strip().partition(";")
        quality = next((one.strip()[2:] for one in rest.split(";") if one.strip().startswith("q=")), "1")
        try:
            ranked.append((-float(quality), place, name.strip().lower()))
        except ValueError:
            continue
    for _, _, name in sorted(ranked):
        if name in OFFERED:
            return name
    return HTML


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def _document(services: Services, found: Shown, tiers: frozenset[Tier], wanted: str) -> Response:
    payload = disclosed_payload(found.payload, tiers)
    if wanted != JSON:
        content = _linked(services, found, payload, FORMATS[wanted])
        return Response(content, media_type=wanted)
    answer: Mapping[str, Any] = {
        "valid": found.is_valid,
        "payload": payload,
        "proof": disclosed(found.proof, tiers),
        "receipt": dict(found.receipt),
        "signature": {
            "alg": "ED25519",
            "key_id": found.row["signing_key_id"],
            "public_key": bytes(found.row["signing_key_public"]).hex(),
            "signature": bytes(found.row["signature"]).hex(),
        },
        "qr": found.row["qr_payload"],
    }
    return Response(encode(answer), media_type=wanted)


def _linked(services: Services, found: Shown, payload: dict[str, Any], chosen: ExportFormat) -> bytes:
    receipt = dict(found.receipt)
    if chosen == ExportFormat.JSON_LD:
        return linked_data(payload, receipt, valid=found.is_valid)
    if not found.is_valid:
        # A credential is taken at its word wherever it goes: none is signed for what does not hold any more.
        raise Problem(410, "not_valid", "this version is not valid any more; no credential is made of it")
    return credential(payload, receipt, present_issuer(services), services.settings.public_url)


def _schema(name: str) -> Response:
    if name == "battery-passport.xsd":
        return Response(xsd(), media_type="application/xml")
    if name == "context.jsonld":
        return Response(json.dumps({"@context": context()}), media_type="application/ld+json")
    submodel = name.removesuffix(".schema.json")
    try:
        return Response(json.dumps(json_schema(submodel)), media_type="application/schema+json")
    except KeyError:
        raise not_found() from None
