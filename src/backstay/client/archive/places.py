"""Where archives are kept: a folder, or a bucket of S3 and whatever speaks its protocol."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import unquote, urlsplit

from backstay.client.archive.folder import Folder
from backstay.errors import InvalidSettings

NEEDS = "a folder, as in /var/backups/jobs or file:///var/backups/jobs, or a bucket, as in s3://bucket/jobs"


class Place(Protocol):
    """Keeps files by name; its calls block, and raise ArchiveFailed where the place cannot be used."""

    def write(self, name: str, content: bytes) -> None:
        """Store a file, durably when this returns; a part of one is never seen."""
        ...

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it does not exist."""
        ...

    def names(self, ending: str) -> list[str]:
        """The names of all files with this ending, in order."""
        ...


def open_place(url: str) -> Place:
    """The place behind a URL or a path."""
    scheme, separator, _ = url.partition("://")
    if not url.strip() or (separator and scheme not in ("file", "s3")):
        raise InvalidSettings(f"cannot archive to {url!r}: name {NEEDS}")
    if not separator:
        return Folder(url)
    parts = urlsplit(url)
    if scheme == "file":
        if parts.netloc or not parts.path.strip("/"):
            raise InvalidSettings(f"cannot archive to {url!r}: name {NEEDS}")
        return Folder(unquote(parts.path))
    from backstay.client.archive.bucket import bucket_behind

    return bucket_behind(url)
