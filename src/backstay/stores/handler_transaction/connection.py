"""The engine's own statements on a handler's connection, whichever library opened it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from backstay.stores.caller_transaction.sessions import Session
from backstay.stores.database.interface import Columns, Row, Values
from backstay.stores.database.postgres import joined_dialect
from backstay.stores.database.queries import Statement
from backstay.stores.database.sqlite import DIALECT, adapt, bindings


class SessionConnection:
    """Named queries in a transaction that somebody else has opened; `clock` tells the time, None is the server's."""

    def __init__(self, session: Session, clock: Callable[[], Any]) -> None:
        self._session, self._clock = session, clock

    async def fetch(self, name: str, /, **values: Any) -> Sequence[Row]:
        return await self.fetch_each(name, [{}], **values)

    async def fetch_each(self, name: str, rows: Sequence[Values], /, **same: Any) -> Sequence[Row]:
        if not rows:
            return []
        if self._session.engine == "sqlite":
            return await self._on_sqlite(name, rows, same)
        statement = _numbered(name)
        given = {**_columns(statement, rows), **same, "clock": self._clock()}
        return await self._session.fetch(name, {value: given[value] for value in statement.values})

    async def _on_sqlite(self, name: str, rows: Sequence[Values], same: Values) -> Sequence[Row]:
        known = {name: adapt(value) for name, value in same.items()} | {"clock": self._clock()}
        found: list[Row] = []
        for bound in bindings(DIALECT.statement(name), rows, known):
            found.extend(await self._session.fetch(name, bound))
        return found


def _columns(statement: Statement, rows: Sequence[Values]) -> dict[str, Any]:
    if isinstance(rows, Columns):
        return dict(rows.columns)
    return {column: [row[column] for row in rows] for column in statement.columns}


@cache
def _numbered(name: str) -> Statement:
    return joined_dialect().statement(name)
