"""Files behind signed addresses, for a storage that has no server of its own."""

from pathlib import PurePosixPath

from fastapi import APIRouter, Response

from backstay.kit import not_found
from backstay_exora.app import settings
from backstay_exora.files import storage_of
from backstay_parts.storage import BadKey, FolderStorage, ObjectNotFound


def make_files() -> APIRouter:
    """The route below /files; the signature in the address is the key, and it runs out."""
    web = APIRouter(include_in_schema=False)

    @web.get("/files/{key:path}")
    async def fetch(key: str, expires: str = "", signature: str = "") -> Response:
        storage = storage_of(settings)
        if not isinstance(storage, FolderStorage) or not storage.verify(
            key, expires=expires, signature=signature
        ):
            raise not_found()
        try:
            content, known = await storage.get(key), await storage.info(key)
        except (ObjectNotFound, BadKey):
            raise not_found() from None
        headers = {
            "Content-Disposition": f'attachment; filename="{PurePosixPath(key).name}"',
            "Cache-Control": "private, no-store",
        }
        kind = known.content_type if known else "application/octet-stream"
        return Response(content, media_type=kind, headers=headers)

    return web
