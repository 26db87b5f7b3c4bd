"""How commands do their work, and how they say what came of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NoReturn

import typer

from backstay_exora.store.connections import Connection, connect


def act(work: Coroutine[Any, Any, Any]) -> Any:
    """What the work comes to; the application is closed behind it."""

    async def whole() -> Any:
        from backstay_exora.app import app

        try:
            return await work
        finally:
            await app.close()

    return asyncio.run(whole())


def query(work: Callable[[Connection], Awaitable[Any]]) -> Any:
    """What a piece of work with a connection comes to."""
    from backstay_exora.app import settings

    async def whole() -> Any:
        async with connect(settings.database_url) as connection:
            return await work(connection)

    return asyncio.run(whole())


def run(as_json: bool, work: Callable[[Connection], Awaitable[Any]], told: dict[str, Any]) -> None:
    """Do the work, then say what was told."""
    query(work)
    say(as_json, told)


def say(as_json: bool, told: Any) -> None:
    """Print values, a line each, or JSON."""
    if as_json:
        typer.echo(json.dumps(told, default=str, ensure_ascii=False, indent=2))
    elif isinstance(told, list):
        for row in told:
            typer.echo("  ".join(f"{name}={value}" for name, value in row.items()))
    else:
        for name, value in told.items():
            typer.echo(f"{name}: {value}")


def fail(as_json: bool, code: str, message: str) -> NoReturn:
    """Print what went wrong and end with 1."""
    if as_json:
        typer.echo(json.dumps({"error": {"code": code, "message": message}}))
    else:
        typer.echo(f"{code}: {message}", err=True)
    raise typer.Exit(1)
