"""What every storage can do, and how it fails."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

_KEY = re.compile(r"[A-Za-z0-9_.@=+-][A-Za-z0-9_.@=+ -]*(/[A-Za-z0-9_.@=+-][A-Za-z0-9_.@=+ -]*)*")
_LONGEST_KEY = 512


class StorageError(Exception):
    """Anything that goes wrong with a storage."""


class ObjectNotFound(StorageError):
    """There is certainly no such object."""


class StorageUnavailable(StorageError):
    """The storage could not be asked; nothing is known about the object, so try again later."""


class StorageRefused(StorageError):
    """The storage answered, and said no: a key without the right, a wrong bucket."""


class BadKey(StorageError, ValueError):
    """A key that would not be safe as a path."""


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What is known of an object without reading it."""

    key: str
    size: int
    content_type: str


class Storage(Protocol):
    """Objects by key. An object that is missing is `ObjectNotFound`, never an error of the network."""

    async def put(self, key: str, content: bytes, *, content_type: str = "application/octet-stream") -> None:
        """Store, replacing what was there; readers see the old or the new object, never half of one."""
        ...

    async def get(self, key: str) -> bytes:
        """The content."""
        ...

    async def info(self, key: str) -> ObjectInfo | None:
        """What is known of the object; None if there is none."""
        ...

    async def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""
        ...

    async def keys(self, prefix: str = "") -> list[str]:
        """All keys that start with the prefix, in order."""
        ...

    async def signed_url(self, key: str, *, expires_in: timedelta) -> str:
        """An address that anybody can read the object from until it expires."""
        ...


def checked(key: str) -> str:
    """The key itself if it is safe on every storage; raises `BadKey`."""
    parts = key.split("/")
    if not _KEY.fullmatch(key) or len(key) > _LONGEST_KEY or any(part in {".", ".."} for part in parts):
        raise BadKey(
            f"{key!r} cannot be a storage key: use letters, digits, ._@=+- and single slashes, at most {_LONGEST_KEY}"
        )
    return key
