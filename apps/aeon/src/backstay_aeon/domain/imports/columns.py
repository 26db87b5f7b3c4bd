"""What a dataset's columns are, and what a cell must be to stand in one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from backstay_aeon.domain.errors import BadRequest

Cell = Any
"""Text, number, boolean, date, datetime or None, as the file had it."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_TRUE, _FALSE = {"true", "yes", "y", "1", "ja", "wahr", "x"}, {"false", "no", "n", "0", "nein", "falsch", ""}
_FIRST_DAY = date(1899, 12, 30)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a dataset; `aliases` are names that files give to it."""

    name: str
    type: str = "text"
    required: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """What the records of a dataset look like; `key` names the column that tells them apart."""

    name: str
    key: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(one for one in self.columns if one.name == name)


class BadCell(ValueError):
    """A cell that does not fit its column; `code` is for counting, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_dataset(name: str, given: Mapping[str, Any]) -> Dataset:
    """Read a dataset as it was sent; raises BadRequest with the field."""
    columns = tuple(_column(one, number) for number, one in enumerate(given.get("columns") or ()))
    names = [one.name for one in columns]
    key = str(given.get("key", ""))
    if not _NAME.fullmatch(name):
        raise BadRequest("a dataset is called by small letters, digits and underscores", field="name")
    if not columns or len(set(names)) != len(names):
        raise BadRequest("a dataset needs columns with names of their own", field="columns")
    if key not in names:
        raise BadRequest(f"the key {key!r} is none of the columns {', '.join(names)}", field="key")
    return Dataset(name, key, columns)


def _column(given: Any, number: int) -> Column:
    field = f"columns/{number}"
    if not isinstance(given, Mapping) or not _NAME.fullmatch(str(given.get("name", ""))):
        raise BadRequest(
            "a column is an object with a name of small letters, digits and underscores", field=field
        )
    kind = str(given.get("type", "text"))
    if kind not in READERS:
        raise BadRequest(f"there is no type {kind!r}; there are {', '.join(READERS)}", field=f"{field}/type")
    aliases = tuple(str(one) for one in given.get("aliases") or ())
    return Column(str(given["name"]), kind, bool(given.get("required", False)), aliases)


def as_json(dataset: Dataset) -> dict[str, Any]:
    """The dataset as it is stored and shown."""
    return {
        "name": dataset.name,
        "key": dataset.key,
        "columns": [
            {"name": one.name, "type": one.type, "required": one.required, "aliases": list(one.aliases)}
            for one in dataset.columns
        ],
    }


def is_empty(cell: Cell) -> bool:
    """Whether nothing stands in a cell."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def read_cell(column: Column, cell: Cell) -> Any:
    """The value of a cell as it is stored, the same whatever format the file had; raises BadCell."""
    if is_empty(cell):
        if column.required:
            raise BadCell("missing", f"{column.name} is empty")
        return None
    return READERS[column.type](cell)


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ") if cell.time() != datetime.min.time() else cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _whole(cell: Cell) -> int:
    number = _number(cell)
    if number != number.to_integral_value():
        raise BadCell("number", f"{_text(cell)!r} is not a whole number")
    return int(number)


def _decimal(cell: Cell) -> str:
    number = _number(cell).normalize()
    return format(number + 0, "f")


def _number(cell: Cell) -> Decimal:
    if isinstance(cell, bool):
        raise BadCell("number", f"{_text(cell)!r} is not a number")
    if isinstance(cell, int | float):
        return Decimal(str(cell))
    # The last separator is that of decimals: 1.234,5 and 1,234.5 are the same number.
    text = _text(cell).replace(" ", "").replace("\u00a0", "").replace("'", "")
    if "," in text:
        comma_last = text.rfind(",") > text.rfind(".")
        text = text.replace(".", "").replace(",", ".") if comma_last else text.replace(",", "")
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise BadCell("number", f"{_text(cell)!r} is not a number") from None
    if not number.is_finite():
        raise BadCell("number", f"{_text(cell)!r} is not a number")
    return number


def _date(cell: Cell) -> str:
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, int | float) and not isinstance(cell, bool) and 20_000 < cell < 80_000:
        return (_FIRST_DAY + timedelta(days=int(cell))).isoformat()
    text = _text(cell)
    parts = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ].*)?", text)
    german = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", text)
    try:
        if parts:
            return date(int(parts[1]), int(parts[2]), int(parts[3])).isoformat()
        if german:
            return date(int(german[3]), int(german[2]), int(german[1])).isoformat()
    except ValueError:
        raise BadCell("date", f"{text!r} is no day of the calendar") from None
    raise BadCell("date", f"{text!r} is not a date like 2026-03-29 or 29.03.2026")


def _boolean(cell: Cell) -> bool:
    text = _text(cell).lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise BadCell("boolean", f"{_text(cell)!r} is neither yes nor no")


def _email(cell: Cell) -> str:
    text = _text(cell).lower()
    if not _EMAIL.fullmatch(text):
        raise BadCell("email", f"{_text(cell)!r} is not an e-mail address")
    return text


READERS: dict[str, Callable[[Cell], Any]] = {
    "text": _text,
    "integer": _whole,
    "decimal": _decimal,
    "date": _date,
    "boolean": _boolean,
    "email": _email,
}


def guess_type(cells: list[Cell]) -> str:
    """The narrowest type that every cell fits; text if there is none."""
    seen = [cell for cell in cells if not is_empty(cell)]
    for kind in ("date", "integer", "decimal", "email"):
        if seen and all(_fits(kind, cell) for cell in seen):
            return kind
    return "text"


def _fits(kind: str, cell: Cell) -> bool:
    # Numbers with a leading zero are codes, and so is a bare number that could be a day.
    if isinstance(cell, str) and kind in ("integer", "decimal") and re.match(r"0\d", cell.strip()):
        return False
    if isinstance(cell, int | float) and kind == "date":
        return False
    try:
        READERS[kind](cell)
    except BadCell:
        return False
    return True
