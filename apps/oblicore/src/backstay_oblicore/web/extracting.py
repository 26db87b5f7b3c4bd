"""POST /api/v1/ai/extract: read a text without storing anything."""

import time
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from backstay.kit import StrictModel
from backstay_oblicore.domain.errors import AccessDenied
from backstay_oblicore.domain.permits.asking import merge
from backstay_oblicore.domain.permits.conditions import Condition, read_pages
from backstay_oblicore.domain.permits.pages import page_from_text
from backstay_oblicore.domain.permits.rules import Rule
from backstay_oblicore.domain.words import MODULE_OF_TYPE
from backstay_oblicore.readers.model import Reader, ask_about, without_memory
from backstay_oblicore.services import Services
from backstay_oblicore.store import library


class Parameters(StrictModel):
    """How a text is read."""

    check_rules_library: bool = True
    confidence_threshold: float = Field(default=0.0, ge=0, le=1)
    max_obligations: int = Field(default=500, ge=1, le=5000)


class ExtractRequest(StrictModel):
    """A text to be read."""

    document_text: str = Field(max_length=2_000_000)
    document_type: Literal["ENVIRONMENTAL_PERMIT", "TRADE_EFFLUENT_CONSENT", "MCPD_REGISTRATION"] = (
        "ENVIRONMENTAL_PERMIT"
    )
    module_code: Literal["MODULE_1", "MODULE_2", "MODULE_3"] | None = None  # without one, that of the type
    document_id: UUID | None = None  # the text is of this document, whose module then counts
    extraction_parameters: Parameters = Field(default_factory=Parameters)


async def extract_text(services: Services, request: ExtractRequest, *, user: UUID) -> dict[str, Any]:
    """Read a text by rules and model; the answer says which found what."""
    started = time.monotonic()
    asked = request.extraction_parameters
    module = await _module(services, request, user)
    rules: list[Rule] = []
    if asked.check_rules_library:
        async with services.database.as_service() as connection:
            rules = await library.active(connection, module)
    pages = [page_from_text(n, text) for n, text in enumerate(request.document_text.split("\f"), start=1)]
    reading = read_pages(pages, rules)
    by_rule = len(reading.conditions)
    client = services.model(seconds=30)
    answers = []
    if client is not None and reading.unmatched:
        answers = await ask_about(reading.unmatched, Reader(client, 30), remember=without_memory)
    merged, doubts = merge(reading, answers, model=services.settings.model_name, most=asked.max_obligations)
    kept = [one for one in merged.conditions if one.confidence >= asked.confidence_threshold]
    return {
        "obligations": [_duty(one) for one in kept],
        "module_code": module,
        "rules_library_matches": by_rule,
        "ai_extractions": len(merged.conditions) - min(by_rule, len(merged.conditions)),
        "open_sentences": [one.text for one in merged.open_sentences],
        "warnings": [doubt.reason for doubt in doubts],
        "processing_time_ms": int((time.monotonic() - started) * 1000),
    }


async def _module(services: Services, request: ExtractRequest, user: UUID) -> str:
    """Return whose rules read the text; a document that is named has to be one that the reader may see."""
    if request.document_id is None:
        return request.module_code or MODULE_OF_TYPE[request.document_type]
    async with services.database.as_user(user) as connection:
        found: str | None = await connection.fetchval(
            "SELECT module.module_code FROM oblicore.documents AS paper"
            " JOIN oblicore.modules AS module ON module.id = paper.module_id"
            " WHERE paper.id = $1 AND paper.deleted_at IS NULL",
            request.document_id,
        )
    if found is None:
        raise AccessDenied("there is no such document, or you may not see it")
    return request.module_code or found


def _duty(one: Condition) -> dict[str, Any]:
    return {
        "text": one.text,
        "summary": one.summary,
        "category": one.category,
        "condition_type": one.condition_type,
        "condition_reference": one.reference,
        "page": one.page,
        "frequency": one.frequency,
        "due": str(one.due_rule),
        "confidence_score": one.confidence,
        "is_subjective": bool(one.subjective_phrases),
        "subjective_phrases": list(one.subjective_phrases),
    }
