"""Objects as files in a folder, with signed addresses that the application's own route checks."""

import asyncio
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import time
from urllib.parse import quote, urlencode

from backstay_parts.storage.contract import ObjectInfo, ObjectNotFound, StorageUnavailable, checked

_INFO_SUFFIX = ".info~"


class FolderStorage:
    """Objects as files; survives kill -9: a file is written beside its place and renamed into it.

    `base_url` is where the application serves objects; its route calls `verify` before it answers.
    """

    def __init__(
        self,
        folder: Path,
        *,
        base_url: str = "http://127.0.0.1/files",
        signing_key: bytes | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self._folder, self._base_url, self._clock = folder, base_url.rstrip("/"), clock
        self._signing_key = signing_key or secrets.token_bytes(32)
        folder.mkdir(parents=True, exist_ok=True)

    async def put(self, key: str, content: bytes, *, content_type: str = "application/octet-stream") -> None:
        """Store, replacing what was there."""
        await asyncio.to_thread(self._put, checked(key), content, content_type)

    async def get(self, key: str) -> bytes:
        """The content; raises `ObjectNotFound`."""
        try:
            return await asyncio.to_thread((self._folder / checked(key)).read_bytes)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise ObjectNotFound(f"there is no object {key!r}") from None
        except OSError as error:
            raise StorageUnavailable(f"the folder cannot be read: {error.strerror}") from error

    async def info(self, key: str) -> ObjectInfo | None:
        """What is known of the object; None if there is none."""
        path = self._folder / checked(key)
        if not await asyncio.to_thread(path.is_file):
            return None
        described = path.with_name(path.name + _INFO_SUFFIX)
        text = await asyncio.to_thread(described.read_text) if described.exists() else "{}"
        kind = json.loads(text).get("content_type", "application/octet-stream")
        return ObjectInfo(key, path.stat().st_size, kind)

    async def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""
        path = self._folder / checked(key)
        for file in (path, path.with_name(path.name + _INFO_SUFFIX)):
            await asyncio.to_thread(file.unlink, missing_ok=True)

    async def keys(self, prefix: str = "") -> list[str]:
        """All keys that start with the prefix, in order."""
        return await asyncio.to_thread(self._keys, prefix)

    async def signed_url(self, key: str, *, expires_in: timedelta) -> str:
        """An address with its end and a signature over both."""
        expires = int(self._clock() + expires_in.total_seconds())
        query = urlencode({"expires": expires, "signature": self._sign(checked(key), expires)})
        return f"{self._base_url}/{quote(key)}?{query}"

    def verify(self, key: str, *, expires: str, signature: str) -> bool:
        """True if the address was signed by this storage and has not expired."""
        if not expires.isdecimal() or int(expires) < self._clock():
            return False
        return hmac.compare_digest(self._sign(key, int(expires)), signature)

    def _put(self, key: str, content: bytes, content_type: str) -> None:
        path = self._folder / key
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            described = json.dumps({"content_type": content_type}).encode()
            _write_whole(path.with_name(path.name + _INFO_SUFFIX), described)
            _write_whole(path, content)
        except OSError as error:
            raise StorageUnavailable(f"the folder cannot be written: {error.strerror}") from error

    def _keys(self, prefix: str) -> list[str]:
        files = (path for path in self._folder.rglob("*") if path.is_file() and not path.name.endswith("~"))
        return sorted(
            key for path in files if (key := path.relative_to(self._folder).as_posix()).startswith(prefix)
        )

    def _sign(self, key: str, expires: int) -> str:
        return hmac.new(self._signing_key, f"{expires}\n{key}".encode(), hashlib.sha256).hexdigest()


def _write_whole(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part~")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
