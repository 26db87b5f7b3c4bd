"""What a file is, by its first bytes; its name is only asked where bytes do not tell."""

from __future__ import annotations

_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\xd0\xcf\x11\xe0", "application/vnd.ms-excel"),
    (b"\x1f\x8b", "application/gzip"),
)
_BY_NAME = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".html": "text/html",
}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def mime_of(start: bytes, name: str = "") -> str:
    """The type of a file by its first bytes."""
    for mark, mime in _MARKS:
        if start.startswith(mark):
            return mime
    if start.startswith(b"PK\x03\x04"):
        if b"xl/" in start or name.lower().endswith((".xlsx", ".xlsm")):
            return XLSX
        return "application/zip"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    if is_text(start):
        suffix = name[name.rfind(".") :].lower() if "." in name else ""
        return _BY_NAME.get(suffix, "text/plain")
    return "application/octet-stream"


def is_text(start: bytes) -> bool:
    """Whether bytes look like text in a usual encoding."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return True
    return b"\x00" not in start and sum(byte < 9 for byte in start) == 0
