"""AUDIT_PACK_GENERATION: put a pack together, with its integrity report and manifest."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import time
import zipfile
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from backstay import Context
from backstay_oblicore import files
from backstay_oblicore.domain import integrity, packs, storage_paths, texts
from backstay_oblicore.domain.errors import DocumentMissing, OblicoreError, PdfFailed, Refused
from backstay_oblicore.domain.integrity import Check, Filed
from backstay_oblicore.domain.packs import PackRequest
from backstay_oblicore.domain.words import AlertType, Channel, PackType, Severity
from backstay_oblicore.print.pack import pack_pdf
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Services
from backstay_oblicore.store import audit, people
from backstay_oblicore.store import packs as store
from backstay_oblicore.store.notifications import Note, write

KIND = "AUDIT_PACK_GENERATION"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def audit_pack_generation(
        ctx: Context,
        pack_type: PackType,
        company_id: UUID,
        date_range_start: date,
        date_range_end: date,
        requested_by: UUID,
        document_id: UUID | None = None,
        site_id: UUID | None = None,
        obligation_statuses: list[str] | None = None,
        categories: list[str] | None = None,
        include_overdue_only: bool = False,
        include_evidence_files: bool = True,
        output_format: Literal["PDF", "ZIP"] = "PDF",
        recipient_type: str | None = None,
        recipient_name: str | None = None,
        purpose: str | None = None,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        company, site, document = (str(one) if one else None for one in (company_id, site_id, document_id))
        statuses, kinds = tuple(obligation_statuses or ()), tuple(categories or ())
        request = PackRequest(
            pack_type, company, site, document, date_range_start, date_range_end, statuses, kinds,
            include_overdue_only, include_evidence_files, output_format, recipient_type,
        )  # fmt: skip
        work = _Work(services, ctx, request, requested_by, {"recipient": recipient_name, "purpose": purpose})
        try:
            await work.run()
        except OblicoreError as error:
            await work.failed(error)
            raise
        return {}

    return audit_pack_generation


class _Work:
    def __init__(
        self, services: Services, ctx: Context, request: PackRequest, user: UUID, words: dict[str, str | None]
    ) -> None:
        self.services, self.ctx, self.request, self.user, self.words = services, ctx, request, user, words
        self.processed = 0

    async def run(self) -> None:
        """Gather, check, print, store, write down; all with the rights of whoever asked."""
        started = time.monotonic()
        async with self.services.database.as_user(self.user) as connection:
            roles = await people.roles_of(connection, self.user, UUID(self.request.company_id or ""))
            packs.check_request(self.request, roles=roles)
            about = await store.subject(connection, self.request)
            if about is None:
                raise DocumentMissing(texts.DOCUMENT_ACCESS)
            duties = await store.obligations(connection, self.request)
            name = await connection.fetchval("SELECT full_name FROM oblicore.users WHERE id = $1", self.user)
        checks, evidence = await self._check_evidence(duties)
        content = self._content(about, duties, checks, name)
        document, manifest = await self._print(content, evidence)
        suffix, mime = (
            ("zip", "application/zip") if self.request.output_format == "ZIP" else ("pdf", "application/pdf")
        )
        if suffix == "zip":
            document = _zip(document, evidence, manifest)
        pack = self.ctx.job_id
        path = storage_paths.pack_file(
            self.request.company_id or "",
            self.request.site_id,
            str(pack),
            timestamp=f"{self.ctx.now:%Y%m%dT%H%M%SZ}",
            extension=suffix,
        )
        await files.save(self.services.storage, path, document, mime)
        milliseconds = int((time.monotonic() - started) * 1000)
        await self._store(content, manifest, path, hashlib.sha256(document).hexdigest(), milliseconds)

    async def _check_evidence(self, duties: list[dict[str, Any]]) -> tuple[list[Check], dict[str, bytes]]:
        """Compare every file with its register entry; a storage that does not answer is no verdict."""
        checks: dict[str, Check] = {}
        appendix: dict[str, bytes] = {}
        carries = packs.has_appendix(self.request.pack_type) and self.request.with_files
        total = len({item["id"] for duty in duties for item in duty["evidence"]})
        for number, duty in enumerate(duties, start=1):
            for item in duty["evidence"]:
                filed = item.pop("_filed")
                if item["id"] not in checks:
                    found, content = await files.found(self.services.storage, filed["storage_path"])
                    entry = Filed(
                        item["id"],
                        filed["file_name"],
                        filed["file_size_bytes"],
                        filed["mime_type"],
                        filed["file_hash"],
                    )
                    checks[item["id"]] = integrity.check(entry, found)
                    if carries and found is not None:
                        appendix[f"{len(appendix) + 1:03d}-{filed['file_name']}"] = content
                item["integrity_status"] = checks[item["id"]].status
            self.processed = number
            line = texts.PACK_PROGRESS.format(n=number, total=len(duties), m=len(checks), files=total)
            self.ctx.progress(number, len(duties), line)
            self.ctx.log.info(line)
        for check in checks.values():
            if check.fault:
                self.ctx.log.warning(
                    "Evidence is not as it was filed", evidence_id=check.evidence_id, fault=check.fault
                )
        return list(checks.values()), appendix

    def _content(
        self, about: Any, duties: list[dict[str, Any]], checks: list[Check], name: str | None
    ) -> dict[str, Any]:
        report = integrity.integrity_report(checks)
        return {
            "metadata": {
                "company_name": about["company_name"],
                "site_name": about["site_name"],
                "document_title": about["title"] or "All documents",
                "permit_number": about["permit_number"],
                "date_range": {"start": self.request.start.isoformat(), "end": self.request.end.isoformat()},
                "generated_at": self.ctx.now.isoformat(timespec="seconds"),
                "generated_by": name or str(self.user),
                **self.words,
            },
            "summary": packs.summary(duties, integrity_errors=int(str(report["error_count"]))),
            "obligations": duties,
            "integrity_report": report,
        }

    async def _print(
        self, content: dict[str, Any], evidence: dict[str, bytes]
    ) -> tuple[bytes, dict[str, Any]]:
        for attempt in (1, 2):
            try:
                return await asyncio.to_thread(
                    pack_pdf,
                    self.request.pack_type,
                    content,
                    evidence,
                    pack_id=str(self.ctx.job_id),
                    generated=self.ctx.now.date().isoformat(),
                )
            except (ValueError, KeyError, TypeError) as error:
                if attempt == 2:
                    raise PdfFailed(f"the pack could not be printed: {error}") from error
        raise AssertionError("the loop returns or raises")

    async def _store(
        self, content: dict[str, Any], manifest: dict[str, Any], path: str, sha256: str, milliseconds: int
    ) -> None:
        async with self.services.closing(self.ctx, self.user) as closing:
            await store.save(
                closing.connection,
                self.ctx.job_id,
                self.request,
                recipient_name=self.words["recipient"],
                purpose=self.words["purpose"],
                path=path,
                content=content,
                manifest=manifest,
                sha256=sha256,
                summary=content["summary"],
                milliseconds=milliseconds,
                generated_by=self.user,
            )
            await audit.write(
                closing.connection,
                "AUDIT_PACK_GENERATED",
                entity_type="AUDIT_PACK",
                entity_id=self.ctx.job_id,
                company=UUID(self.request.company_id or ""),
                user=self.user,
                new={"pack_type": self.request.pack_type, **content["summary"]},
            )
            message = texts.PACK_DONE.format(
                title=content["metadata"]["document_title"], start=self.request.start, end=self.request.end
            )
            closing.notes.append(self._note(Severity.INFO, texts.PACK_DONE_TITLE, message))
            closing.result |= {"pack_id": str(self.ctx.job_id), **content["summary"]}

    async def failed(self, error: OblicoreError) -> None:
        """Keep the facts for the letter, and tell the requester once nothing will be tried any more."""
        await self.services.remember(
            self.ctx,
            document_id=self.request.document_id,
            obligations_processed=self.processed,
            pack_type=self.request.pack_type,
        )
        if error.retryable and self.ctx.attempt < self.ctx.max_attempts:
            return
        text = texts.pack_failed(
            self.request.pack_type,
            error=str(error),
            is_validation=isinstance(error, Refused) and error.code == "VALIDATION_ERROR",
        )
        async with self.services.database.as_service() as connection:
            written = await write(
                connection, [self._note(Severity.ERROR, texts.PACK_FAILED_TITLE, text)], now=self.ctx.now
            )
        await self.services.deliver(written)

    def _note(self, severity: Severity, title: str, message: str) -> Note:
        return Note(
            user_id=str(self.user),
            company_id=UUID(self.request.company_id or ""),
            alert_type=AlertType.SYSTEM,
            severity=severity,
            channels=(Channel.IN_APP, Channel.EMAIL),
            title=title,
            message=message,
            entity_type="AUDIT_PACK",
            entity_id=self.ctx.job_id,
            action_url=f"/audit-packs/{self.ctx.job_id}/download",
            dedupe_key=f"pack:{self.ctx.job_id}:{severity}",
        )


def _zip(document: bytes, evidence: dict[str, bytes], manifest: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pack.pdf", document)
        for name, content in evidence.items():
            archive.writestr(f"evidence/{name}", content)
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
    return buffer.getvalue()
