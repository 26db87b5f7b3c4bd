"""The workbook of refused rows: as they came, the bad cell marked, the reason beside it; and back again.

A row that was too long has its surplus cells behind the reasons, one that was too short says (missing) in its last
cells. Both come back refused until a person has emptied those cells, so that no cell is dropped unseen.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import xlsxwriter  # type: ignore[import-untyped]  # it has no stubs

from backstay_aeon.domain.imports.columns import Cell, is_empty
from backstay_aeon.domain.imports.mapping import REJECT_COLUMNS

MISSING = "(missing)"
SURPLUS = "_surplus "
_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "constant_memory": True,
}


def write_rejects(
    headers: Sequence[str], rows: Sequence[tuple[int, list[Cell], list[dict[str, str]]]]
) -> bytes:
    """The refused rows (number, cells, problems) as a workbook; text never becomes a formula."""
    surplus = max((len(cells) for _, cells, _ in rows), default=0) - len(headers)
    names = [*headers, *REJECT_COLUMNS, *(f"{SURPLUS}{number + 1}" for number in range(surplus))]
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, _OPTIONS) as book:
        head = book.add_format({"bold": True, "bottom": 1})
        bad = book.add_format({"bg_color": "#F8C9C4", "font_color": "#8A1C12"})
        sheet = book.add_worksheet("rejects")
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, len(headers) - 1, 18)
        sheet.set_column(len(headers), len(names) - 1, 24)
        for place, name in enumerate(names):
            sheet.write_string(0, place, name, head)
        for line, row in enumerate(rows, 1):
            _write_row(sheet, line, headers, row, bad)
    return buffer.getvalue()


def _write_row(
    sheet: Any, line: int, headers: Sequence[str], row: tuple[int, list[Cell], list[dict[str, str]]], bad: Any
) -> None:
    number, cells, problems = row
    marked = {one["column"] for one in problems}
    for place, header in enumerate(headers):
        if place < len(cells):
            is_bad = header in marked or cells[place] == MISSING
            _write(sheet, line, place, cells[place], bad if is_bad else None)
        else:
            _write(sheet, line, place, MISSING, bad)
    sheet.write_number(line, len(headers), number)
    sheet.write_string(line, len(headers) + 1, ", ".join(one["column"] for one in problems))
    sheet.write_string(line, len(headers) + 2, "; ".join(one["message"] for one in problems))
    for place, cell in enumerate(cells[len(headers) :], len(headers) + len(REJECT_COLUMNS)):
        _write(sheet, line, place, cell, bad)


def _write(sheet: Any, line: int, place: int, cell: Cell, look: Any) -> None:
    if cell is None or cell == "":
        sheet.write_blank(line, place, None, look)
    elif isinstance(cell, bool):
        sheet.write_boolean(line, place, cell, look)
    elif isinstance(cell, int | float):
        sheet.write_number(line, place, cell, look)
    else:
        text = cell.isoformat() if isinstance(cell, date | datetime) else str(cell)
        sheet.write_string(line, place, text, look)


def numbered(headers: Sequence[str], rows: Iterable[list[Cell]]) -> Iterable[tuple[int, list[Cell]]]:
    """The rows of a corrected workbook with the numbers that they had, without our own columns.

    What is left in a surplus cell stands behind the others, so that the row is still too long.
    """
    mark = headers.index("_row")
    own = [place for place, header in enumerate(headers) if not is_ours(header)]
    surplus = [place for place, header in enumerate(headers) if header.startswith(SURPLUS)]
    for row in rows:
        number = row[mark] if mark < len(row) else None
        if isinstance(number, str) and number.strip().isdigit():
            number = int(number)
        if isinstance(number, int | float) and not isinstance(number, bool):
            cells = [row[place] if place < len(row) else None for place in own]
            left = [row[place] for place in surplus if place < len(row)]
            yield int(number), cells + [cell for cell in left if not is_empty(cell)]


def is_ours(header: str) -> bool:
    """Whether a column of the workbook was added to those of the file."""
    return header in REJECT_COLUMNS or header.startswith(SURPLUS)


def is_incomplete(cells: Sequence[Cell]) -> bool:
    """Whether a cell still says that it is missing: it is to be filled, or emptied if nothing belongs there."""
    return any(isinstance(cell, str) and cell.strip() == MISSING for cell in cells)


def is_reject_file(headers: Sequence[str]) -> bool:
    """Whether a file is our workbook of rejects, corrected or not."""
    return all(name in headers for name in REJECT_COLUMNS)
