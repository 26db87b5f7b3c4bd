"""What a read document leaves behind: obligations, questions for people, a log line, a note; or what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_oblicore.domain import texts
from backstay_oblicore.domain.due_dates import NoDate, Situation, next_due
from backstay_oblicore.domain.due_rules import Every, RelativeTo, frequency_of
from backstay_oblicore.domain.errors import (
    AnswerInvalid,
    FileMissing,
    ModelFailed,
    ModelTimeout,
    OblicoreError,
    OcrFailed,
)
from backstay_oblicore.domain.permits.asking import Doubt
from backstay_oblicore.domain.permits.conditions import Condition, Reading
from backstay_oblicore.domain.permits.rules import LIBRARY_VERSION
from backstay_oblicore.domain.permits.tables import TableDuty
from backstay_oblicore.domain.permits.timing import read_timing
from backstay_oblicore.domain.words import AlertType, Channel, ExtractionStatus, ReviewType, Severity
from backstay_oblicore.services import Services
from backstay_oblicore.store import documents, variations
from backstay_oblicore.store.documents import ReviewItem
from backstay_oblicore.store.notifications import Note, write

SURE, BLOCKING = 0.85, 0.70
STATUS_OF_ERROR: dict[type[OblicoreError], ExtractionStatus] = {
    OcrFailed: ExtractionStatus.OCR_FAILED,
    ModelTimeout: ExtractionStatus.PROCESSING,
    ModelFailed: ExtractionStatus.EXTRACTION_FAILED,
    AnswerInvalid: ExtractionStatus.REVIEW_REQUIRED,
}


@dataclass(frozen=True)
class Extraction:
    """Everything that reading a document came to."""

    reading: Reading
    doubts: Sequence[Doubt]
    warnings: Sequence[str]
    ocr_required: bool
    ocr_confidence: float | None
    model: str | None
    hit_rate: float
    by_rule: int
    milliseconds: int
    poor_pages: Mapping[int, float] = field(default_factory=dict)
    known: frozenset[str] = frozenset()  # obligations of an earlier reading whose words still stand there


@dataclass(frozen=True)
class _Parameter:
    parameter: str | None
    limit: Any
    minimum: Any
    unit: str | None
    frequency: str | None


async def finish(
    services: Services, ctx: Context, paper: Any, done: Extraction, *, user: UUID | None
) -> None:
    """Write everything in the transaction that ends the job."""
    conditions = done.reading.conditions
    async with services.closing(ctx, user) as closing:
        connection = closing.connection
        known = await documents.replace_obligations(
            connection, paper, conditions, kept=done.known, created_by=user
        )
        await documents.replace_sentences(connection, paper, done.reading.sentences)
        items = review_items(done, still_open=await documents.open_texts(connection, paper["id"]))
        await documents.withdraw_reviews(connection, paper, {item.key for item in items})
        flagged = await documents.add_reviews(connection, paper, items, known)
        await documents.add_parameters(connection, paper, map(_parameter, done.reading.table_limits))
        await documents.write_log(connection, paper, **_log_line(done, flagged))
        found_any = bool(conditions or done.known)
        await documents.finish(connection, paper["id"], found_any=found_any, now=ctx.now)
        # Until the new version has been read, the old one binds: there is never a day without duties.
        carried = await variations.supersede(connection, paper) if found_any else 0
        counts = {
            "obligations_extracted": len(conditions) + len(done.known),
            "flagged_for_review": flagged,
            "processing_time_ms": done.milliseconds,
        }
        if paper["parent_document_id"]:
            closing.result["carried_over"] = carried
        closing.notes += success_note(paper, counts)
        closing.result |= counts
        ctx.log.info(
            "Document processed",
            company_id=str(paper["company_id"]),
            site_id=str(paper["site_id"]),
            total_obligations=len(conditions),
            processed=len(conditions),
        )


def _log_line(done: Extraction, flagged: int) -> dict[str, Any]:
    count = len(done.reading.conditions)
    return {
        "model": done.model,
        "library": LIBRARY_VERSION,
        "segments": done.reading.segment_count,
        "obligations": count,
        "flagged": flagged,
        "milliseconds": done.milliseconds,
        "ocr_required": done.ocr_required,
        "ocr_confidence": done.ocr_confidence,
        "warnings": list(done.warnings),
        "metadata": {
            "rules_library_matches": done.by_rule,
            "ai_extractions": count - done.by_rule,
            "hit_rate": done.hit_rate,
            "open_sentences": len(done.reading.open_sentences),
        },
    }


def review_items(done: Extraction, *, still_open: Set[str]) -> list[ReviewItem]:
    """Return what people have to look at; not what they have decided about an earlier reading."""
    items = [_unsure(one) for one in done.reading.conditions if one.confidence < SURE]
    items += [item for one in done.reading.conditions if (item := _undated(one))]
    items += [
        ReviewItem(
            ReviewType.OPEN_SENTENCE,
            f"open {one.page} {one.text}",
            {"text": one.text, "page": one.page, "reference": one.reference},
            is_blocking=True,
        )
        for one in done.reading.open_sentences
        if one.text in still_open
    ]
    items += [
        ReviewItem(
            doubt.review_type,
            f"{doubt.review_type} {doubt.reference} {doubt.text}",
            {"text": doubt.text, "reference": doubt.reference, "reason": doubt.reason},
        )
        for doubt in done.doubts
    ]
    if done.poor_pages:
        data = {
            "ocr_confidence": min(done.poor_pages.values()),
            "pages": {str(number): mark for number, mark in done.poor_pages.items()},
        }
        items.append(ReviewItem(ReviewType.OCR_QUALITY, "ocr quality", data, is_blocking=True))
    if not done.reading.conditions and not done.known:
        nothing = {"reason": "no obligation was found"}
        items.append(ReviewItem(ReviewType.NO_MATCH, "no obligations", nothing, is_blocking=True))
    return items


def _unsure(one: Condition) -> ReviewItem:
    data = {
        "reference": one.reference,
        "text": one.text,
        "confidence": one.confidence,
        "frequency": one.frequency,
    }
    key = f"low confidence {one.fingerprint}"
    return ReviewItem(ReviewType.LOW_CONFIDENCE, key, data, one.confidence < BLOCKING, one.fingerprint)


def _undated(one: Condition) -> ReviewItem | None:
    rule = one.due_rule.first if isinstance(one.due_rule, Every) else one.due_rule
    found = next_due(rule, Situation()) if isinstance(rule, RelativeTo) else None
    if not isinstance(found, NoDate) or found.missing is None or found.missing.startswith("issue"):
        return None
    data = {"reference": one.reference, "text": one.text, "missing": found.missing}
    return ReviewItem(ReviewType.DATE_FAILURE, f"date {one.fingerprint}", data, fingerprint=one.fingerprint)


def _parameter(duty: TableDuty) -> _Parameter:
    rule = read_timing(duty.text).rule
    word = frequency_of(rule).value if isinstance(rule, Every) else None
    is_limit = duty.kind == "LIMIT"
    return _Parameter(duty.parameter if is_limit else None, duty.limit, duty.minimum, duty.unit, word)


def success_note(paper: Any, counts: dict[str, int]) -> list[Note]:
    """Tell the uploader what came out."""
    if paper["uploaded_by"] is None:
        return []
    message = texts.document_done(
        paper["title"], count=counts["obligations_extracted"], flagged=counts["flagged_for_review"]
    )
    return [
        Note(
            user_id=str(paper["uploaded_by"]),
            company_id=paper["company_id"],
            site_id=paper["site_id"],
            alert_type=AlertType.SYSTEM,
            severity=Severity.INFO,
            channels=(Channel.IN_APP,),
            title=texts.DOCUMENT_DONE_TITLE,
            message=message,
            entity_type="document",
            entity_id=paper["id"],
            action_url=f"/documents/{paper['id']}",
            metadata=dict(counts),
        )
    ]


async def failed(services: Services, ctx: Context, paper: Any, error: OblicoreError) -> None:
    """Write down what went wrong; the uploader hears of it only when nothing will be tried any more."""
    status = next(
        (one for kind, one in STATUS_OF_ERROR.items() if isinstance(error, kind)), ExtractionStatus.FAILED
    )
    message = texts.FILE_NOT_FOUND if isinstance(error, FileMissing) else str(error)
    is_final = not error.retryable or ctx.attempt >= ctx.max_attempts
    await services.remember(ctx, document_id=str(paper["id"]), execution_step=error.code)
    async with services.database.as_service() as connection:
        await documents.set_status(connection, paper["id"], status, error=message)
        if status in (
            ExtractionStatus.OCR_FAILED,
            ExtractionStatus.EXTRACTION_FAILED,
            ExtractionStatus.REVIEW_REQUIRED,
        ):
            item = ReviewItem(
                ReviewType.EXTRACTION_FAILED, f"failed {status}", {"error": message, "code": error.code}, True
            )
            await documents.add_reviews(connection, paper, [item], {})
        if is_final and paper["uploaded_by"] is not None:
            await write(connection, [_failure_note(paper, error, message)], now=ctx.now)


def _failure_note(paper: Any, error: OblicoreError, message: str) -> Note:
    return Note(
        user_id=str(paper["uploaded_by"]),
        company_id=paper["company_id"],
        site_id=paper["site_id"],
        alert_type=AlertType.SYSTEM,
        severity=Severity.ERROR,
        channels=(Channel.IN_APP,),
        title=texts.DOCUMENT_FAILED_TITLE,
        message=texts.DOCUMENT_FAILED.format(title=paper["title"], error=message),
        entity_type="document",
        entity_id=paper["id"],
        action_url=f"/review-queue?document_id={paper['id']}",
        metadata={"error_type": error.code, "error_message": message, "can_retry": error.retryable},
    )
