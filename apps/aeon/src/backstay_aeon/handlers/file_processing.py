"""file_processing: what a file is, its checksum, and the text that stands in it."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_aeon import services
from backstay_aeon.domain.errors import BadRequest, ValidationError
from backstay_aeon.domain.files.detect import XLSX, mime_of
from backstay_aeon.domain.imports.reading import read_rows, refuse_bomb, sniff
from backstay_aeon.job_types import Envelope, JobType, add
from backstay_aeon.store import files
from backstay_parts.optional import MissingPart

OPERATIONS = ("checksum", "mime", "text")
MOST_TEXT = 200_000
MOST_PAGES = 200


class FileProcessing(JobType):
    """Look into a file."""

    name = "file_processing"
    runs_in_process = True
    queue = "files"
    title = "Process a file"

    def validate(self, payload: dict[str, Any]) -> None:
        """The id of a file, and operations that there are."""
        try:
            UUID(str(payload.get("file_id")))
        except ValueError:
            raise BadRequest(
                "file_processing needs the file_id of an upload", field="payload/file_id"
            ) from None
        wanted = payload.get("operations") or []
        unknown = [one for one in wanted if one not in OPERATIONS] if isinstance(wanted, list) else [wanted]
        if unknown:
            raise BadRequest(
                f"there is no operation {', '.join(map(str, unknown))}; there are {', '.join(OPERATIONS)}",
                field="payload/operations",
            )

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        """Do what was asked for, or everything, and keep it with the file."""
        here = services.here()
        async with here.database.connection() as connection:
            row = await files.get(connection, UUID(payload["file_id"]), UUID(envelope.team_id))
        wanted = payload.get("operations") or OPERATIONS
        async with here.files.local(row["storage_key"]) as path:
            facts = await asyncio.to_thread(look_into, path, row["name"], row["sha256"], wanted)
        await here.database.execute(
            "UPDATE aeon.files SET facts = $2, mime = coalesce($3, mime), job_id = $4 WHERE id = $1",
            row["id"],
            facts,
            facts.get("mime"),
            ctx.job_id,
        )
        return {name: value for name, value in facts.items() if name != "text"} | {"file_id": str(row["id"])}


def look_into(path: Path, name: str, expected: str, wanted: Any) -> dict[str, Any]:
    """The facts of a file that were asked for; raises ValidationError for a damaged one."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ValidationError("the bytes in the storage are not those that were sent: send the file again")
    with path.open("rb") as file:
        mime = mime_of(file.read(4096), name)
    facts: dict[str, Any] = {"mime": mime, "size": path.stat().st_size}
    if "checksum" in wanted:
        facts["sha256"] = digest
    if "text" in wanted:
        facts |= text_of(path, mime)
    return facts


def text_of(path: Path, mime: str) -> dict[str, Any]:
    """The text in a file, and what else is known of it."""
    if mime == "application/pdf":
        return _pdf(path)
    if mime.startswith("image/"):
        return _picture(path)
    if mime == XLSX or mime == "application/vnd.ms-excel":
        form = sniff(path)
        rows = list(read_rows(path, form))
        lines = ["\t".join(map(str, form.headers)), *("\t".join(map(str, row)) for row in rows[:5000])]
        return {"rows": len(rows), "columns": len(form.headers), "text": "\n".join(lines)[:MOST_TEXT]}
    if mime == "application/zip":
        refuse_bomb(path)
    if mime.startswith("text/") or mime in ("application/json", "application/x-ndjson"):
        return _plain(path)
    return {"text": ""}


def _plain(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    return {"lines": text.count("\n") + 1, "text": text[:MOST_TEXT].replace("\x00", "")}


def _pdf(path: Path) -> dict[str, Any]:
    from backstay_parts.pdf import BadPdf, open_pdf

    try:
        with open_pdf(path.read_bytes()) as pdf:
            pages = [pdf.page(number).text for number in range(1, min(pdf.page_count, MOST_PAGES) + 1)]
            return {"pages": pdf.page_count, "text": "\n\n".join(pages)[:MOST_TEXT]}
    except BadPdf as error:
        raise ValidationError(f"the PDF cannot be read: {error}") from error


def _picture(path: Path) -> dict[str, Any]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            picture.load()
            facts: dict[str, Any] = {"width": picture.width, "height": picture.height}
            content = picture.convert("RGB")
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise ValidationError("the picture is damaged; send it again") from error
    try:
        from backstay_parts.ocr import read_scan

        page, _ = read_scan(content, languages="eng")
    except (ImportError, MissingPart):
        return {**facts, "text": "", "note": "no OCR is installed: pip install 'backstay-parts[ocr]'"}
    return {**facts, "text": page.text[:MOST_TEXT], "confidence": round(page.mean_confidence, 3)}


add(FileProcessing())
