"""Where uploads and results are kept: a folder or a bucket."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from backstay_aeon.domain.errors import Missing
from backstay_aeon.settings import Settings
from backstay_parts.storage import FolderStorage, ObjectNotFound, S3Storage, Storage


class Files:
    """Stores bytes under a key and gives them back, as bytes or as a local file to read from."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.folder if settings.storage.startswith("folder:") else None
        self._storage: Storage = _storage(settings)

    async def put(self, key: str, content: bytes, content_type: str) -> str:
        """Store bytes and return their SHA-256."""
        await self._storage.put(key, content, content_type=content_type)
        return hashlib.sha256(content).hexdigest()

    async def get(self, key: str) -> bytes:
        """The bytes under a key."""
        try:
            return await self._storage.get(key)
        except ObjectNotFound:
            raise Missing(f"the file {key} is gone from the storage") from None

    @asynccontextmanager
    async def local(self, key: str) -> AsyncIterator[Path]:
        """A local file with these bytes, so that a large one is read piece by piece."""
        descriptor, name = tempfile.mkstemp(prefix="aeon-")
        path = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(await self.get(key))
            yield path
        finally:
            await asyncio.to_thread(path.unlink)


def _storage(settings: Settings) -> Storage:
    if settings.storage.startswith("folder:"):
        settings.folder.mkdir(parents=True, exist_ok=True)
        return FolderStorage(settings.folder, base_url=f"{settings.public_url}/files")
    bucket = settings.storage.removeprefix("s3://").strip("/")
    return S3Storage(
        bucket,
        endpoint_url=os.environ.get("AWS_ENDPOINT_URL") or None,
        access_key=os.environ.get("AWS_ACCESS_KEY_ID", ""),
        secret_key=os.environ.get("AWS_SECRET_ACCESS_KEY", ""),
    )
