"""Files through the storage part, with its errors in the application's words."""

from __future__ import annotations

import hashlib

from backstay_oblicore.domain import texts
from backstay_oblicore.domain.errors import FileMissing, StorageUnavailable
from backstay_oblicore.domain.integrity import Found
from backstay_parts.storage import ObjectNotFound, Storage, StorageError


async def load(storage: Storage, path: str) -> bytes:
    """Read a file; absent is FileMissing, a storage that does not answer is StorageUnavailable."""
    try:
        return await storage.get(path)
    except ObjectNotFound as error:
        raise FileMissing(texts.FILE_NOT_FOUND) from error
    except StorageError as error:
        raise StorageUnavailable(f"storage did not give {path}: {error}") from error


async def save(storage: Storage, path: str, content: bytes, content_type: str) -> None:
    """Write a file, replacing what a first try may have left."""
    try:
        await storage.put(path, content, content_type=content_type)
    except StorageError as error:
        raise StorageUnavailable(f"storage did not take {path}: {error}") from error


async def found(storage: Storage, path: str) -> tuple[Found | None, bytes]:
    """Return what storage has under a path, with its content; none only if it is certainly absent."""
    try:
        info = await storage.info(path)
        if info is None:
            return None, b""
        content = await storage.get(path)
    except ObjectNotFound:
        return None, b""
    except StorageError as error:
        raise StorageUnavailable(f"storage did not answer about {path}: {error}") from error
    return Found(info.size, info.content_type, hashlib.sha256(content).hexdigest()), content
