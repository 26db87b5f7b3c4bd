"""`Idempotency-Key` of the API: the answers of requests that were sent with one, kept in the database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.responses import JSONResponse

from backstay.app import Backstay
from backstay.http.access import Person
from backstay.kit.idempotency import Idempotency, Reservation, StoredAnswer


@dataclass(frozen=True)
class AnswerStore:
    """Keeps answers with the jobs of an application."""

    app: Backstay

    async def reserve(self, scope: str, key: str, fingerprint: str) -> Reservation | None:
        """Take the key if it is free and return None, else return what it was taken for."""
        taken = await self.app.api_requests.reserve(scope, key, fingerprint)
        if taken is None:
            return None
        if taken.status is None:
            return Reservation(taken.fingerprint)
        return Reservation(
            taken.fingerprint, StoredAnswer(taken.status, taken.content_type, taken.body.encode())
        )

    async def keep(self, scope: str, key: str, answer: StoredAnswer) -> None:
        """Store the answer of a reserved key."""
        await self.app.api_requests.keep(
            scope, key, status=answer.status, content_type=answer.content_type, body=answer.body.decode()
        )

    async def release(self, scope: str, key: str) -> None:
        """Give a key back whose request changed nothing."""
        await self.app.api_requests.release(scope, key)


class AnsweredRequests:
    """Runs a request that carries an Idempotency-Key at most once."""

    def __init__(self, app: Backstay) -> None:
        self._idempotency = Idempotency(AnswerStore(app))

    async def run(
        self, request: Request, person: Person, act: Callable[[], Awaitable[BaseModel]], *, status: int = 201
    ) -> Response:
        """Act and answer with what the action returns, or answer as the first time."""

        async def answered() -> Response:
            return JSONResponse((await act()).model_dump(mode="json"), status)

        return await self._idempotency.run(request, person.actor, answered)
