"""Which files may be uploaded, what is in them, and where are they kept?"""

import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from backstay_exora.domain.failures import failure
from backstay_exora.settings import Settings
from backstay_exora.store.documents import PageRow
from backstay_parts.ocr import read_scan
from backstay_parts.optional import need
from backstay_parts.pdf import BadPdf, open_pdf
from backstay_parts.storage import FolderStorage, ObjectNotFound, S3Storage, Storage, StorageError
from backstay_parts.words import TextPage

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES = 50 * 1024 * 1024
MOST_PAGES = 60
DPI = 200
_ENOUGH_WORDS = 15
_MOST_PIXELS_A_SIDE = 4000
_KINDS = {
    b"%PDF": "application/pdf",
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
}


@cache
def storage_of(settings: Settings) -> Storage:
    """Where files are kept; the keys of S3 come from the environment, as its own tools take them."""
    if settings.storage.startswith("s3://"):
        bucket, _, prefix = settings.storage.removeprefix("s3://").strip("/").partition("/")
        return S3Storage(
            bucket, endpoint_url=settings.s3_endpoint or None, prefix=f"{prefix}/" if prefix else ""
        )
    return FolderStorage(
        Path(settings.storage.removeprefix("folder:")),
        base_url=f"{settings.public_url}/files",
        signing_key=settings.secret.encode() or None,
    )


async def fetch(settings: Settings, key: str) -> bytes:
    """The content of a file; raises the failures FILE_MISSING and STORAGE_UNAVAILABLE."""
    try:
        return await storage_of(settings).get(key)
    except ObjectNotFound as error:
        raise failure("FILE_MISSING", "the file is not in the storage; upload it again") from error
    except StorageError as error:
        raise failure("STORAGE_UNAVAILABLE", "the storage could not be read") from error


async def keep(settings: Settings, key: str, content: bytes, *, content_type: str) -> None:
    """Store a file; raises the failure STORAGE_UNAVAILABLE."""
    try:
        await storage_of(settings).put(key, content, content_type=content_type)
    except StorageError as error:
        raise failure("STORAGE_UNAVAILABLE", "the storage could not be written") from error


def mime_of(content: bytes) -> str | None:
    """The kind of a file by its first bytes; None for one that cannot be read."""
    return next((kind for start, kind in _KINDS.items() if content.startswith(start)), None)


def count_pages(content: bytes, mime: str) -> int:
    """How many pages; raises the failure BAD_FILE for a file that cannot be opened."""
    if mime != "application/pdf":
        return int(getattr(_picture(content), "n_frames", 1))
    try:
        with open_pdf(content) as pdf:
            return pdf.page_count
    except BadPdf as error:
        raise failure("BAD_FILE", str(error)) from error


def read_page(content: bytes, mime: str, number: int) -> tuple[PageRow, bytes]:
    """The words of a page and its upright picture as PNG; text of a PDF is taken as it stands."""
    if mime == "application/pdf":
        with open_pdf(content) as pdf:
            text, picture = pdf.page(number), pdf.render(number, dpi=DPI)
        if len(text.words) >= _ENOUGH_WORDS:
            return _row(text, DPI / 72, picture.width, picture.height), _png(picture)
    else:
        picture = _picture(content)
        picture.seek(number - 1)
        picture = _bounded(picture.convert("L"))
    page, upright = read_scan(picture, number=number, dpi=DPI)
    return _row(page, 1.0, upright.width, upright.height), _png(upright)


def image_key(practice: str, document_id: object, page: int) -> str:
    """Where a page's picture is kept."""
    return f"{practice}/{document_id}/page-{page}.png"


def _picture(content: bytes) -> "Image":
    image = need("PIL.Image", extra="ocr")
    try:
        picture: Image = image.open(io.BytesIO(content))
        picture.load()
        return picture
    except (OSError, ValueError, image.DecompressionBombError) as error:
        raise failure("BAD_FILE", "the picture cannot be opened; it may be damaged or too large") from error


def _bounded(picture: "Image") -> "Image":
    """Photographs of telephones have more pixels than reading needs."""
    picture.thumbnail((_MOST_PIXELS_A_SIDE, _MOST_PIXELS_A_SIDE))
    return picture


def _row(page: TextPage, scale: float, width: int, height: int) -> PageRow:
    words = [list(_scaled(page, index, scale)) for index in range(len(page.words))]
    return PageRow(page.number, "", width, height, page.turn, round(page.mean_confidence, 4), words)


def _scaled(page: TextPage, index: int, scale: float) -> Iterator[object]:
    word = page.words[index]
    box = word.box.scaled(scale)
    yield word.text
    yield from (round(value, 1) for value in (box.left, box.top, box.right, box.bottom))
    yield round(word.confidence, 3)
    yield word.line


def _png(picture: "Image") -> bytes:
    buffer = io.BytesIO()
    picture.convert("L").save(buffer, "PNG")
    return buffer.getvalue()
