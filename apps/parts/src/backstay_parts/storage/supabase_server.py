"""The routes of Supabase Storage over a folder: `python -m backstay_parts.storage.supabase_server`.

The service key comes from the environment (STORAGE_SERVICE_KEY). Buckets exist as soon as they are used.
"""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from backstay_parts.optional import need
from backstay_parts.serving import serve
from backstay_parts.storage.contract import BadKey, ObjectNotFound, checked
from backstay_parts.storage.folder import FolderStorage


class Routes:
    """The handlers of the routes."""

    def __init__(self, folder: Path, key: str) -> None:
        self._key = key
        self._objects = FolderStorage(folder, base_url="/object/sign", signing_key=key.encode())
        self._answers: Any = need("starlette.responses", extra="servers")

    async def upload(self, request: Any) -> Any:
        """POST or PUT /object/{bucket}/{path}."""
        path = checked(request.path_params["path"])
        may_replace = request.headers.get("x-upsert") == "true" or request.method == "PUT"
        if not may_replace and await self._objects.info(path) is not None:
            return self._error(400, "409", "The resource already exists")
        kind = request.headers.get("content-type", "application/octet-stream")
        await self._objects.put(path, await request.body(), content_type=kind)
        return self._answers.JSONResponse({"Key": path})

    async def download(self, request: Any) -> Any:
        """GET /object/{bucket}/{path}."""
        return await self._content(checked(request.path_params["path"]))

    async def info(self, request: Any) -> Any:
        """GET /object/info/{bucket}/{path}."""
        path = checked(request.path_params["path"])
        known = await self._objects.info(path)
        if known is None:
            return self._error(400, "404", "Object not found")
        return self._answers.JSONResponse(
            {"name": path, "size": known.size, "content_type": known.content_type}
        )

    async def remove(self, request: Any) -> Any:
        """DELETE /object/{bucket} with {"prefixes": […]}."""
        bucket, names = request.path_params["bucket"], (await request.json())["prefixes"]
        for name in names:
            await self._objects.delete(checked(f"{bucket}/{name}"))
        return self._answers.JSONResponse([{"name": name} for name in names])

    async def list_folder(self, request: Any) -> Any:
        """POST /object/list/{bucket}: the entries of one folder; a folder among them has no id."""
        asked = await request.json()
        folder = f"{request.path_params['bucket']}/{asked.get('prefix', '').strip('/')}".rstrip("/") + "/"
        entries: dict[str, str | None] = {}
        for key in await self._objects.keys(folder):
            name, _, below = key.removeprefix(folder).partition("/")
            entries[name] = None if below else key
        start = int(asked.get("offset", 0))
        chosen = sorted(entries)[start : start + int(asked.get("limit", 100))]
        return self._answers.JSONResponse([{"name": name, "id": entries[name]} for name in chosen])

    async def sign(self, request: Any) -> Any:
        """POST /object/sign/{bucket}/{path} with {"expiresIn": seconds}."""
        path = checked(request.path_params["path"])
        if await self._objects.info(path) is None:
            return self._error(400, "404", "Object not found")
        lasting = timedelta(seconds=int((await request.json())["expiresIn"]))
        address = await self._objects.signed_url(path, expires_in=lasting)
        return self._answers.JSONResponse({"signedURL": address.replace("expires=", "token=e&expires=", 1)})

    async def signed(self, request: Any) -> Any:
        """GET /object/sign/{bucket}/{path}?token=…: no key, only the signature."""
        path, query = checked(request.path_params["path"]), request.query_params
        if not self._objects.verify(
            path, expires=query.get("expires", ""), signature=query.get("signature", "")
        ):
            return self._error(400, "InvalidJWT", '"exp" claim timestamp check failed')
        return await self._content(path)

    def guarded(self, handler: Any) -> Any:
        """The handler for callers who hold the service key."""

        async def checked_handler(request: Any) -> Any:
            if request.headers.get("authorization") != f"Bearer {self._key}":
                return self._error(400, "403", "Unauthorized")
            return await self.safe(handler)(request)

        return checked_handler

    def safe(self, handler: Any) -> Any:
        """The handler, with unsafe paths answered instead of raised."""

        async def safe_handler(request: Any) -> Any:
            try:
                return await handler(request)
            except BadKey as error:
                return self._error(400, "400", str(error))

        return safe_handler

    async def _content(self, path: str) -> Any:
        try:
            content = await self._objects.get(path)
        except ObjectNotFound:
            return self._error(400, "404", "Object not found")
        known = await self._objects.info(path)
        return self._answers.Response(content, media_type=known.content_type if known else None)

    def _error(self, status: int, code: str, message: str) -> Any:
        return self._answers.JSONResponse({"statusCode": code, "message": message}, status_code=status)


def make(folder: Path) -> Any:
    """The application."""
    routes = Routes(folder, os.environ["STORAGE_SERVICE_KEY"])
    route = need("starlette.routing", extra="servers").Route
    base = "/storage/v1/object"
    return need("starlette.applications", extra="servers").Starlette(
        routes=[
            route(f"{base}/sign/{{path:path}}", routes.safe(routes.signed), methods=["GET"]),
            route(f"{base}/sign/{{path:path}}", routes.guarded(routes.sign), methods=["POST"]),
            route(f"{base}/list/{{bucket}}", routes.guarded(routes.list_folder), methods=["POST"]),
            route(f"{base}/info/{{path:path}}", routes.guarded(routes.info), methods=["GET"]),
            route(f"{base}/{{bucket}}", routes.guarded(routes.remove), methods=["DELETE"]),
            route(f"{base}/{{path:path}}", routes.guarded(routes.upload), methods=["POST", "PUT"]),
            route(f"{base}/{{path:path}}", routes.guarded(routes.download), methods=["GET"]),
        ]
    )


if __name__ == "__main__":
    serve(make, description="Supabase Storage's routes over a folder.")
