"""Job types of others, for worker processes: they go on until a file is there, in three ways of waiting."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from backstay import Context
from backstay_aeon.domain.errors import BadRequest
from backstay_aeon.job_types import Envelope, JobType, add


class Waiting(JobType):
    """Wait until the file named by the payload is there."""

    name = "waiting"
    queue: ClassVar[str] = "waiting"

    def validate(self, payload: dict[str, Any]) -> None:
        if not isinstance(payload.get("until"), str):
            raise BadRequest("until is the path of a file", field="payload/until")

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        while not Path(payload["until"]).exists():
            await asyncio.sleep(0.02)
        return {"number": payload.get("number")}


class Busy(Waiting):
    """Keep the processor busy on the loop of the handlers until the file is there."""

    name = "busy"

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        found = Path(payload["until"])
        while not found.exists():
            sum(range(10_000))
        return {}


class Noting(JobType):
    """Write a line into a file when it starts."""

    name = "noting"
    queue: ClassVar[str] = "noting"

    def validate(self, payload: dict[str, Any]) -> None:
        if not isinstance(payload.get("into"), str):
            raise BadRequest("into is the path of a file", field="payload/into")

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        with Path(payload["into"]).open("a") as file:
            file.write(f"{payload['line']}\n")


class Quick(JobType):
    """Do nothing, at once."""

    name = "quick"
    queue: ClassVar[str] = "quick"

    def validate(self, payload: dict[str, Any]) -> None:
        """Anything will do."""

    async def execute(self, ctx: Context, payload: dict[str, Any], envelope: Envelope) -> Any:
        return {"number": payload.get("number")}


add(Waiting())
add(Busy())
add(Noting())
add(Quick())
