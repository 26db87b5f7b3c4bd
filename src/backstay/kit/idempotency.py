"""`Idempotency-Key`: a request that is sent twice acts once and is answered twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from fastapi import Request, Response

from backstay.kit.actor import Actor
from backstay.kit.problems import Problem

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
_FORM = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True)
class StoredAnswer:
    """What a request was answered with."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True)
class Reservation:
    """What a store knows of a key: which request took it, and its answer once there is one."""

    fingerprint: str
    answer: StoredAnswer | None = None


class IdempotencyStore(Protocol):
    """Where an application keeps keys, at least for 24 hours. `scope` is tenant, actor and route."""

    async def reserve(self, scope: str, key: str, fingerprint: str) -> Reservation | None:
        """Take the key if it is free and return None, else return what it was taken for. Atomic."""
        ...

    async def keep(self, scope: str, key: str, answer: StoredAnswer) -> None:
        """Store the answer of a reserved key."""
        ...

    async def release(self, scope: str, key: str) -> None:
        """Give a key back whose request changed nothing."""
        ...


class Idempotency:
    """Runs a request at most once for each key of an actor.

    ```python
    @router.post("/jobs", status_code=201)
    async def create(request: Request, actor: …, body: NewJob) -> Response:
        return await idempotency.run(request, actor, lambda: create_job(actor, body))
    ```
    """

    def __init__(self, store: IdempotencyStore, *, required: bool = False) -> None:
        self._store = store
        self._required = required

    async def run(self, request: Request, actor: Actor, act: Callable[[], Awaitable[Response]]) -> Response:
        """Act and keep the answer; with a key that was used for the same request, answer as before.

        A key used for another request is 422, one whose request is still running 409. An error and an answer of
        500 or more release the key, so that the caller can try again.
        """
        key = self._key_of(request)
        if key is None:
            return await act()
        scope = f"{actor.tenant} {actor.id or actor.name} {request.method} {request.url.path}"
        print_ = fingerprint_of(
            request.method, str(request.url.path), request.url.query, await request.body()
        )
        taken = await self._store.reserve(scope, key, print_)
        if taken is not None:
            return _again(taken, print_)
        try:
            response = await act()
        except BaseException:
            await self._store.release(scope, key)
            raise
        await self._settle(scope, key, response)
        return response

    async def _settle(self, scope: str, key: str, response: Response) -> None:
        if response.status_code >= 500:
            await self._store.release(scope, key)
            return
        content_type = response.headers.get("content-type", "application/json")
        await self._store.keep(
            scope, key, StoredAnswer(response.status_code, content_type, bytes(response.body))
        )

    def _key_of(self, request: Request) -> str | None:
        key = request.headers.get(HEADER)
        if key is None:
            if self._required:
                raise Problem(400, "idempotency_key_missing", f"Send the header {HEADER}.")
            return None
        if not _FORM.fullmatch(key):
            raise Problem(400, "idempotency_key_invalid", f"{HEADER} is 1 to 255 visible ASCII characters.")
        return key


def fingerprint_of(method: str, path: str, query: str, body: bytes) -> str:
    """Return the hash by which two requests with the same key are compared."""
    parts = [method.encode(), path.encode(), query.encode(), body]
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _again(taken: Reservation, fingerprint: str) -> Response:
    if taken.fingerprint != fingerprint:
        raise Problem(422, "idempotency_key_reused", f"This {HEADER} was used for another request.")
    if taken.answer is None:
        raise Problem(
            409,
            "request_in_progress",
            "The first request with this key is still running; ask again in a moment.",
            headers={"Retry-After": "1"},
        )
    answer = taken.answer
    return Response(answer.body, answer.status, media_type=answer.content_type, headers={REPLAYED: "true"})
