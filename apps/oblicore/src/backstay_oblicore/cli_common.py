"""What every command needs: settings, one event loop, somebody to act for, output for people or programs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

import typer

from backstay_oblicore.jobs import build
from backstay_oblicore.services import Services
from backstay_oblicore.settings import BadSettings, Settings
from backstay_oblicore.store import people
from backstay_oblicore.store.database import to_json

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
As = Annotated[str, typer.Option("--as", help="E-mail address of whoever acts.")]
Site = Annotated[UUID, typer.Option("--site", help="Id of the site.")]
Wait = Annotated[bool, typer.Option(help="Run the job here and wait for it.")]


def do(act: Callable[[Services], Awaitable[Any]], *, as_json: bool = False) -> Any:
    """Act once with everything put together, show what came of it, and give everything back."""
    services = build(Settings.from_environment())

    async def whole() -> Any:
        try:
            return await act(services)
        finally:
            await services.close()

    found = asyncio.run(whole())
    show(found, as_json=as_json)
    return found


def show(found: Any, *, as_json: bool) -> None:
    """Print a value: JSON for programs, lines for people."""
    if as_json:
        typer.echo(to_json(found))
    elif isinstance(found, list):
        for row in found:
            typer.echo(
                "  ".join(f"{key}={value}" for key, value in row.items()) if isinstance(row, dict) else row
            )
    elif isinstance(found, dict):
        for key, value in found.items():
            typer.echo(f"{key}: {value}")
    elif found is not None:
        typer.echo(found)


async def user_named(services: Services, email: str) -> UUID:
    """Return the id of whoever has this address."""
    async with services.database.as_service() as connection:
        row = await people.user_by_email(connection, email)
    if row is None:
        raise BadSettings(f"nobody has the address {email}: add them with `users add`")
    found: UUID = row["id"]
    return found


async def finish(services: Services, handle: Any, *, wait: bool) -> dict[str, Any]:
    """Return the job at once, or run it here and return its result."""
    if not wait:
        return {"job_id": str(handle.id)}
    async with services.app.working(concurrency=4):
        result = await handle.result(timeout=900)
    return {"job_id": str(handle.id), "result": result}
