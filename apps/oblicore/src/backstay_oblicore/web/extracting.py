"""POST /api/v1/ai/extract: read a text without storing anything."""

import time
from typing import Any

from pydantic import Field

from backstay.kit import StrictModel
from backstay_oblicore.domain.permits.asking import merge
from backstay_oblicore.domain.permits.conditions import read_pages
from backstay_oblicore.domain.permits.pages import page_from_text
from backstay_oblicore.domain.permits.rules import BUILT_IN, for_module
from backstay_oblicore.readers.model import Reader, ask_about, without_memory
from backstay_oblicore.services import Services


class Parameters(StrictModel):
    """How a text is read."""

    check_rules_library: bool = True
    confidence_threshold: float = Field(default=0.0, ge=0, le=1)
    max_obligations: int = Field(default=500, ge=1, le=5000)


class ExtractRequest(StrictModel):
    """A text to be read."""

    document_text: str = Field(max_length=2_000_000)
    document_type: str = "ENVIRONMENTAL_PERMIT"
    module_code: str = "MODULE_1"
    document_id: str | None = None
    extraction_parameters: Parameters = Field(default_factory=Parameters)


async def extract_text(services: Services, request: ExtractRequest) -> dict[str, Any]:
    """Read a text by rules and model; the answer says which found what."""
    started = time.monotonic()
    asked = request.extraction_parameters
    rules = for_module(BUILT_IN, request.module_code) if asked.check_rules_library else []
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
        "obligations": [
            {
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
            for one in kept
        ],
        "rules_library_matches": by_rule,
        "ai_extractions": len(merged.conditions) - min(by_rule, len(merged.conditions)),
        "open_sentences": [one.text for one in merged.open_sentences],
        "warnings": [doubt.reason for doubt in doubts],
        "processing_time_ms": int((time.monotonic() - started) * 1000),
    }
