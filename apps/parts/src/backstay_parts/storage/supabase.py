"""Objects behind the routes of Supabase Storage, and a private server that has these routes."""

import secrets
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import httpx

from backstay.testing import free_port
from backstay_parts.servers.process import ServerProcess, answers_http
from backstay_parts.storage.contract import (
    ObjectInfo,
    ObjectNotFound,
    StorageRefused,
    StorageUnavailable,
    checked,
)

_PAGE = 1000


class SupabaseStorage:
    """Objects of one bucket; `url` is that of the project, `key` the service key."""

    def __init__(self, url: str, *, key: str, bucket: str, timeout: float = 30.0) -> None:
        self._base = url.rstrip("/") + "/storage/v1"
        self._bucket, self._timeout = bucket, timeout
        self._headers = {"Authorization": f"Bearer {key}", "apikey": key}

    async def put(self, key: str, content: bytes, *, content_type: str = "application/octet-stream") -> None:
        """Store, replacing what was there."""
        headers = {"content-type": content_type, "x-upsert": "true"}
        await self._ask("POST", f"/object/{self._path(key)}", content=content, headers=headers)

    async def get(self, key: str) -> bytes:
        """The content; raises `ObjectNotFound`."""
        return (await self._ask("GET", f"/object/{self._path(key)}")).content

    async def info(self, key: str) -> ObjectInfo | None:
        """What is known of the object; None if there is none."""
        try:
            answer = (await self._ask("GET", f"/object/info/{self._path(key)}")).json()
        except ObjectNotFound:
            return None
        return ObjectInfo(key, answer["size"], answer.get("content_type", "application/octet-stream"))

    async def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""
        await self._ask("DELETE", f"/object/{quote(self._bucket)}", json={"prefixes": [checked(key)]})

    async def keys(self, prefix: str = "") -> list[str]:
        """All keys that start with the prefix, in order; folders are walked one by one, as the routes list them."""
        folder = prefix.rpartition("/")[0]
        return sorted(key for key in await self._walk(folder) if key.startswith(prefix))

    async def signed_url(self, key: str, *, expires_in: timedelta) -> str:
        """An address of the storage with a token in it."""
        seconds = int(expires_in.total_seconds())
        answer = await self._ask("POST", f"/object/sign/{self._path(key)}", json={"expiresIn": seconds})
        return self._base + str(answer.json()["signedURL"])

    async def _walk(self, folder: str) -> list[str]:
        found: list[str] = []
        offset = 0
        while True:
            asked = {"prefix": folder, "limit": _PAGE, "offset": offset}
            entries = (await self._ask("POST", f"/object/list/{quote(self._bucket)}", json=asked)).json()
            for entry in entries:
                path = f"{folder}/{entry['name']}" if folder else str(entry["name"])
                found.extend(await self._walk(path) if entry["id"] is None else [path])
            if len(entries) < _PAGE:
                return found
            offset += _PAGE

    def _path(self, key: str) -> str:
        return f"{quote(self._bucket)}/{quote(checked(key))}"

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        json: object = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        try:
            async with httpx.AsyncClient(timeout=self._timeout) as client:
                answer = await client.request(
                    method,
                    self._base + path,
                    content=content,
                    json=json,
                    headers={**self._headers, **(headers or {})},
                )
        except httpx.HTTPError as error:
            raise StorageUnavailable(f"the storage could not be reached: {type(error).__name__}") from error
        if answer.status_code >= 500 or answer.status_code == 429:
            raise StorageUnavailable(f"the storage answered {answer.status_code}")
        if answer.status_code == 404 or _says_not_found(answer):
            raise ObjectNotFound("there is no such object")
        if answer.status_code >= 400:
            raise StorageRefused(f"the storage refused with {answer.status_code}")
        return answer


class SupabaseServer(ServerProcess):
    """A private server with Supabase's storage routes over a folder; `url` and `key` for the client."""

    def __init__(self, *, folder: Path | None = None) -> None:
        port = free_port()
        self.key = secrets.token_hex(20)
        super().__init__(
            [], port=port, name="supabase", is_ready=answers_http("/"), env={"STORAGE_SERVICE_KEY": self.key}
        )
        module = "backstay_parts.storage.supabase_server"
        self.argv = [
            *(sys.executable, "-m", module, "--port", str(port)),
            *("--folder", str(folder or self.folder / "objects")),
        ]


def _says_not_found(answer: httpx.Response) -> bool:
    """Supabase answers 400 with `"statusCode": "404"` in the body for an object that is missing."""
    if answer.status_code != 400:
        return False
    try:
        body = answer.json()
    except ValueError:
        return False
    return isinstance(body, dict) and str(body.get("statusCode")) == "404"
