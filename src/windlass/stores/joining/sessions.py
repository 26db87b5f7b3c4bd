"""What a caller's transaction looks like, whichever library opened it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from windlass.errors import InvalidSettings

T = TypeVar("T")
Engine = Literal["postgresql", "sqlite"]
Announce = Callable[[], None]
Found = Sequence[Mapping[str, Any]]

SUPPORTED = (
    "an asyncpg connection with an open transaction, one of psycopg or sqlite3, "
    "or a connection or session of SQLAlchemy"
)


class Session(Protocol):
    """Runs our statements where the caller's transaction is open.

    That of a blocking driver works in the thread that calls it: its coroutine ends without ever waiting.
    """

    @property
    def engine(self) -> str:
        """Which database it is, by the name its URLs begin with."""
        ...

    @property
    def driver(self) -> object:
        """The driver's connection, which lives as long as the link to the database."""
        ...

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        """The rows of a named query."""
        ...

    async def run(self, sql: str) -> Found:
        """The rows of a statement without values."""
        ...

    def after_commit(self, announce: Announce) -> bool:
        """Have this called after the commit; False where the library cannot say when that is."""
        ...


@dataclass(frozen=True, slots=True)
class Way:
    """How to get at a transaction that was handed in."""

    is_sync: bool
    open: Callable[[], Awaitable[Session]]


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, because everything it awaits blocks instead."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("a blocking driver was awaited")


def refuse_autocommit(what: str, remedy: str) -> InvalidSettings:
    """Why a connection without a transaction cannot be joined."""
    return InvalidSettings(
        f"{what}, so the job would be committed at once: {remedy}, or leave the connection out"
    )
