"""DOCUMENT_PROCESSING: read a permit and write down its obligations."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from backstay import Context
from backstay_oblicore import files
from backstay_oblicore.domain import storage_paths, texts
from backstay_oblicore.domain.errors import DocumentMissing, OblicoreError, OcrFailed
from backstay_oblicore.domain.permits.asking import Doubt, keep_known, merge
from backstay_oblicore.domain.permits.conditions import Reading, read_pages
from backstay_oblicore.domain.permits.pages import Page, Table, page_from_text
from backstay_oblicore.domain.registry import model_seconds
from backstay_oblicore.handlers.document_results import Extraction, failed, finish
from backstay_oblicore.profile import kind_options
from backstay_oblicore.readers import documents as reader
from backstay_oblicore.readers.model import Reader, ask_about
from backstay_oblicore.services import Services
from backstay_oblicore.store import documents, library

KIND = "DOCUMENT_PROCESSING"
LEAST_OCR_CONFIDENCE = 0.8


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def document_processing(
        ctx: Context,
        document_id: UUID,
        force_reprocess: bool = False,
        extraction_mode: Literal["FULL", "INCREMENTAL"] = "FULL",
        requested_by: UUID | None = None,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        async with (
            services.database.as_user(requested_by)
            if requested_by
            else services.database.as_service() as read
        ):
            paper = await documents.to_process(read, document_id)
        if paper is None:
            raise DocumentMissing(texts.DOCUMENT_ACCESS)
        if paper["extraction_status"] == "COMPLETED" and not force_reprocess:
            return await _existing(services, document_id)
        work = _Work(services, ctx, paper, requested_by, extraction_mode == "INCREMENTAL")
        try:
            extraction = await work.extract()
        except OblicoreError as error:
            await failed(services, ctx, paper, error)
            raise
        await finish(services, ctx, paper, extraction, user=requested_by)
        return {}

    return document_processing


async def _existing(services: Services, document: UUID) -> dict[str, Any]:
    async with services.database.as_service() as connection:
        count = await connection.fetchval(
            "SELECT count(*) FROM oblicore.obligations WHERE document_id = $1 AND deleted_at IS NULL",
            document,
        )
    return {"obligations_extracted": count, "skipped": True}


@dataclass
class _Work:
    """One document on its way from bytes to obligations."""

    services: Services
    ctx: Context
    paper: Any
    user: UUID | None
    only_new: bool
    warnings: list[str] = field(default_factory=list)
    poor_pages: dict[int, float] = field(default_factory=dict)
    words: dict[int, list[Any]] = field(default_factory=dict)

    async def extract(self) -> Extraction:
        """Read the document; everything slow is a step that a retry does not repeat."""
        started = time.monotonic()
        async with self.services.database.as_service() as connection:
            await documents.set_status(connection, self.paper["id"], "PROCESSING")
            rules = await library.active(connection, self.paper["module_code"])
        path = self.paper["storage_path"] or storage_paths.document_original(
            str(self.paper["company_id"]), str(self.paper["site_id"]), str(self.paper["id"])
        )
        content = await files.load(self.services.storage, path)
        shape = await asyncio.to_thread(reader.outline, content)
        seconds = model_seconds(pages=shape.page_count, size=len(content))
        needs_ocr = not shape.is_native
        if needs_ocr:
            pages, confidence = await self._recognise(content, shape)
        else:
            async with asyncio.timeout(seconds):
                pages, confidence = await asyncio.to_thread(reader.native_pages, content), None
        text = "\f".join("\n".join(page.lines) for page in pages)
        await self._keep_text(text, len(pages), is_native=not needs_ocr, confidence=confidence)
        reading = await asyncio.to_thread(read_pages, pages, rules)
        hit_rate, before = reading.hit_rate, len(reading.conditions)
        known: frozenset[str] = frozenset()
        if self.only_new:
            reading, known = keep_known(reading, await self._known())
        reading, doubts = await self._ask(reading, seconds)
        return Extraction(
            reading=reading,
            doubts=doubts,
            warnings=self.warnings,
            ocr_required=needs_ocr,
            ocr_confidence=confidence,
            poor_pages=self.poor_pages,
            known=known,
            model=self.services.settings.model_name if self.services.settings.model_url else None,
            hit_rate=hit_rate,
            by_rule=before,
            milliseconds=int((time.monotonic() - started) * 1000),
        )

    async def _recognise(self, content: bytes, shape: reader.Outline) -> tuple[list[Page], float]:
        """Recognise the scanned pages, each as a step; pages with text of their own are taken as they are."""
        native = {page.number: page for page in await asyncio.to_thread(reader.native_pages, content)}
        pages: list[Page] = []
        marks: dict[int, float] = {}
        for number in range(1, shape.page_count + 1):
            if number not in shape.scanned:
                pages.append(native[number])
                continue
            found = await self.ctx.step(f"page {number}", _recognise_page, content, number)
            self.ctx.progress(number, shape.page_count, f"Recognised page {number}/{shape.page_count}")
            tables = [Table(number, one["caption"], _rows(one["rows"])) for one in found.get("tables", ())]
            pages.append(page_from_text(number, found["text"], tables))
            marks[number] = float(found["confidence"])
            self.words[number] = found.get("words", [])
        confidence = round(sum(marks.values()) / len(marks), 4)
        # Eleven good pages do not make up for one that nobody can read.
        self.poor_pages = {number: mark for number, mark in marks.items() if mark < LEAST_OCR_CONFIDENCE}
        for number, mark in self.poor_pages.items():
            self.warnings.append(
                f"OCR confidence of page {number} is {mark:.2f}, below {LEAST_OCR_CONFIDENCE}"
            )
            self.ctx.log.warning("OCR confidence is low", page=number, ocr_confidence=mark)
        return pages, confidence

    async def _keep_text(self, text: str, pages: int, *, is_native: bool, confidence: float | None) -> None:
        paper = self.paper
        async with self.services.database.as_service() as connection:
            await documents.save_text(
                connection, paper["id"], text, pages=pages, is_native=is_native, confidence=confidence
            )
        place = (str(paper["company_id"]), str(paper["site_id"]), str(paper["id"]))
        storage, kept = self.services.storage, storage_paths.document_text(*place)
        await files.save(storage, kept, text.encode(), "text/plain; charset=utf-8")
        if self.words:
            content = json.dumps(self.words).encode()
            await files.save(storage, storage_paths.document_words(*place), content, "application/json")

    async def _ask(self, reading: Reading, seconds: float) -> tuple[Reading, Sequence[Doubt]]:
        segments = list(reading.unmatched)
        client = self.services.model(seconds=seconds)
        if client is None or not segments:
            if segments:
                self.warnings.append(
                    "no language model is set: OBLICORE_MODEL_URL; unknown sentences stay open"
                )
            return reading, []

        async def remember(name: str, part: Any) -> Any:
            return await self.ctx.step(name, part)

        answers = await ask_about(segments, Reader(client, seconds), remember=remember)
        return merge(reading, answers, model=client.model)

    async def _known(self) -> set[str]:
        """Return the fingerprints of the document's obligations, those of people's decisions included."""
        async with self.services.database.as_service() as connection:
            rows = await connection.fetch(
                "SELECT fingerprint FROM oblicore.obligations WHERE document_id = $1 AND deleted_at IS NULL",
                self.paper["id"],
            )
        return {row["fingerprint"] for row in rows if row["fingerprint"]}


async def _recognise_page(content: bytes, number: int) -> dict[str, Any]:
    try:
        page = await asyncio.to_thread(reader.scan_page, content, number)
    except (OSError, RuntimeError) as error:
        raise OcrFailed(f"page {number} could not be recognised: {error}") from error
    tables = [{"caption": one.caption, "rows": one.rows} for one in page.tables]
    words = [list(word) for word in page.words]
    return {"text": page.text, "confidence": page.confidence, "tables": tables, "words": words}


def _rows(stored: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row) for row in stored)
