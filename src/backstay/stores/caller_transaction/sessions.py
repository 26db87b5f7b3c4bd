"""What a caller's transaction looks like, whichever library opened it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from backstay.errors import InvalidSettings

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
class Opener:
    """How to get at a transaction that was handed in."""

    is_sync: bool
    open: Callable[[], Awaitable[Session]]
    is_ours: bool = False
    """Whether it is known to be in the right database."""


def autocommit_error(what: str, remedy: str) -> InvalidSettings:
    """The error for a connection that has no open transaction to join."""
    return InvalidSettings(
        f"{what}, so the job would be committed at once: {remedy}, or leave the connection out"
    )
