"""Cursors of long lists: the place of the last row, signed, so that nobody makes up or moves one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay.kit.problems import Problem
from backstay.kit.signing import SigningKeys

PURPOSE = "cursor"
LONGEST = 2048

CursorValue = str | int | float | bool | None | datetime | UUID


class Cursors:
    """Writes and reads cursors.

    `scope` names the list and everything that its rows depend on (tenant, filters, order): a cursor of one list
    is refused by another.
    """

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys

    def write(self, scope: str, place: Sequence[CursorValue]) -> str:
        """Return the cursor behind the row with these sorting values."""
        data = json.dumps([_plain(value) for value in place], separators=(",", ":")).encode()
        return self._keys.seal(f"{PURPOSE} {scope}", data)

    def read(self, scope: str, cursor: str) -> list[Any]:
        """Return the sorting values of a cursor; raises a 400 problem for one that is not of this list."""
        data = self._keys.open(f"{PURPOSE} {scope}", cursor) if len(cursor) <= LONGEST else None
        if data is None:
            raise Problem(
                400,
                "cursor_invalid",
                "The cursor is not one of this list with these filters; start again without a cursor.",
                pointer="query: cursor",
            )
        return [_value(each) for each in json.loads(data)]


def _plain(value: CursorValue) -> Any:
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    return {"uuid": str(value)} if isinstance(value, UUID) else value


def _value(plain: Any) -> Any:
    match plain:
        case {"time": text}:
            return datetime.fromisoformat(text)
        case {"uuid": text}:
            return UUID(text)
        case _:
            return plain
