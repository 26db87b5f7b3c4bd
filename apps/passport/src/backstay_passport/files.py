"""Files by address: kept in the database, in the folder that was set, or in an S3 bucket."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection

from backstay_parts.storage import ObjectNotFound, S3Storage
from backstay_passport.domain.errors import DocumentRejected, InvalidInput, NotFound
from backstay_passport.ingest.reading import MAX_BYTES
from backstay_passport.services import Services
from backstay_passport.store import documents

IN_DATABASE = "db:"
DEFAULT_REGION = "us-east-1"


def fetch(services: Services, connection: Connection, tenant_id: str, file_url: str) -> bytes:
    """Return the bytes of a file at `db:<id>`, `file:///…` below the files' folder, or `s3://bucket/key`."""
    if file_url.startswith(IN_DATABASE):
        return documents.file_content(connection, tenant_id, file_url.removeprefix(IN_DATABASE))
    parts = urlsplit(file_url)
    if parts.scheme == "file":
        path = _inside(services, Path(unquote(parts.path)))
        if not path.is_file():
            raise NotFound("file", file_url)
        _check_size(path.stat().st_size)
        return path.read_bytes()
    if parts.scheme == "s3":
        try:
            return asyncio.run(_download(parts.netloc, parts.path.lstrip("/")))
        except ObjectNotFound:
            raise NotFound("file", file_url) from None
    raise InvalidInput(f"{file_url!r} is not an address of a file: db:<id>, file:///path or s3://bucket/key")


def _check_size(size: int) -> None:
    # Before it is read: what is too large to be a document is not taken into memory.
    if size > MAX_BYTES:
        raise DocumentRejected("", f"{size} bytes; a document may have {MAX_BYTES}")


def put(services: Services, destination: str, content: bytes) -> None:
    """Write bytes to `file:///…` below the files' folder, or to `s3://bucket/key`."""
    parts = urlsplit(destination)
    if parts.scheme == "file":
        path = _inside(services, Path(unquote(parts.path)))
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(content)
        partial.replace(path)
    elif parts.scheme == "s3":
        asyncio.run(bucket(parts.netloc).put(parts.path.lstrip("/"), content))
    else:
        raise InvalidInput(f"{destination!r} is not a destination: file:///path or s3://bucket/key")


def _inside(services: Services, path: Path) -> Path:
    folder = services.settings.files_dir
    if folder is None:
        raise InvalidInput("files on disk are read only if BPC_FILES_DIR names their folder")
    resolved = path.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        raise InvalidInput(f"{path} is not below BPC_FILES_DIR")
    return resolved


async def _download(name: str, key: str) -> bytes:
    storage = bucket(name)
    found = await storage.info(key)
    if found is not None:
        _check_size(found.size)
    return await storage.get(key)


def bucket(name: str) -> S3Storage:
    """Return a bucket by its name, with what the environment says of how to reach it."""
    # Without keys of ours the client finds them where AWS programs do: AWS_… variables with a session token, a profile,
    # the role of the machine.
    return S3Storage(
        name,
        endpoint_url=os.environ.get("BPC_S3_ENDPOINT_URL") or None,
        region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or DEFAULT_REGION,
    )
