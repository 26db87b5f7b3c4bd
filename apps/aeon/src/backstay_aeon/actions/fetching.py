"""Fetching a table from an address that somebody else chose."""

from __future__ import annotations

from datetime import timedelta
from pathlib import PurePosixPath
from urllib.parse import urlsplit
from uuid import UUID

from backstay.outgoing import AnswerRefused, Sender, TargetRefused
from backstay_aeon import services
from backstay_aeon.actions.uploads import keep
from backstay_aeon.domain.errors import Missing, ValidationError
from backstay_aeon.store import files, imports


async def fetch_for_import(import_id: str) -> str:
    """Store what the source of an import gives, and return the id of the file."""
    here = services.here()
    async with here.database.connection() as connection:
        one = await imports.get(connection, UUID(import_id))
        source = one["source_url"] or ""
        if source.startswith(("http://", "https://")):
            name, content = PurePosixPath(urlsplit(source).path).name or "download", await download(source)
        else:
            name, content = await _stored(connection, here, one, source)
    kept = await keep(here, one["team_id"], one["created_by"], name, content)
    await here.database.execute("UPDATE aeon.imports SET file_id = $2 WHERE id = $1", one["id"], kept["id"])
    return str(kept["id"])


async def _stored(
    connection: object, here: services.Services, one: dict[str, object], source: str
) -> tuple[str, bytes]:
    """A source that is no address is the id of a file of the same team."""
    try:
        file_id = UUID(source)
    except ValueError:
        raise ValidationError(
            f"the source {source!r} is neither an http address nor the id of a file"
        ) from None
    row = await files.get(connection, file_id, one["team_id"])  # type: ignore[arg-type]  # a UUID by its column
    return str(row["name"]), await here.files.get(str(row["storage_key"]))


async def download(url: str) -> bytes:
    """The bytes at an address; a service that asks to wait is asked again when it says."""
    settings = services.here().settings
    most = settings.max_upload_mb * 1024 * 1024
    async with Sender(
        allow=settings.allow_sources, plain_http=False, timeout=timedelta(minutes=2), kept_bytes=most
    ) as sender:
        try:
            answer = await sender.send("GET", url)
            answer.raise_for_status()
        except TargetRefused as error:
            raise ValidationError(f"this address may not be called: {error.reason}") from error
        except AnswerRefused as error:
            if error.status == 404:
                raise Missing(f"there is nothing at {url}") from error
            raise
    if answer.truncated:
        raise ValidationError(f"the file at this address has more than {settings.max_upload_mb} MB")
    return answer.body
