"""How a handler or a page reaches the database."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection  # generic for type checkers only


@asynccontextmanager
async def connect(database_url: str) -> AsyncIterator[Connection]:
    """One connection for one piece of work, with JSON as Python values."""
    connection = await asyncpg.connect(database_url)
    try:
        await read_json(connection)
        yield connection
    finally:
        await connection.close()


async def read_json(connection: Connection) -> None:
    """Give and take jsonb as Python values on this connection."""
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")


def as_json(value: Any) -> str:
    """A value as text for a connection that is not ours, written with a cast to jsonb."""
    return json.dumps(value, ensure_ascii=False, default=str)
