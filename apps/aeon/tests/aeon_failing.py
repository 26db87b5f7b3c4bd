"""A job type of others: it fails as its payload says. Loaded by its name alone, as AEON_HANDLERS would."""

from __future__ import annotations

import sqlite3
from typing import Any, ClassVar

import asyncpg

from backstay import Context
from backstay_aeon.domain.errors import BadRequest, Missing, ValidationError
from backstay_aeon.job_types import Envelope, JobType, add

FAILURES: dict[str, Exception] = {
    "transient_network": ConnectionRefusedError("connect ECONNREFUSED 127.0.0.1:9"),
    "rate_limit": RuntimeError("the server answered 429"),
    "temporary_resource": MemoryError(),
    "timeout": TimeoutError("it took too long"),
    "internal_error": sqlite3.InternalError("a part broke"),
    "database_error": asyncpg.exceptions.InternalServerError("the database broke"),
    "unknown": RuntimeError("nobody knows this one"),
    "validation_error": ValidationError("the data can never be read"),
    "authentication_error": asyncpg.exceptions.InvalidPasswordError("who are you?"),
    "not_found": Missing("it is gone"),
    "permission_denied": PermissionError("you may not"),
    "invalid_input": BadRequest("this cannot be"),
}


class Failing(JobType):
    """Fail with an error of the class that was asked for."""

    name = "failing"
    queue: ClassVar[str] = "failing"

    def validate(self, payload: dict[str, Any]) -> None:
        if payload.get("as") not in FAILURES:
            raise BadRequest(f"as is one of {', '.join(FAILURES)}", field="payload/as")

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        raise FAILURES[payload["as"]]


add(Failing())
