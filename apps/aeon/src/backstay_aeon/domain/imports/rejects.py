"""The workbook of refused rows: as they came, the bad cell marked, the reason beside it; and back again."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import xlsxwriter  # type: ignore[import-untyped]  # it has no stubs

from backstay_aeon.domain.imports.columns import Cell
from backstay_aeon.domain.imports.mapping import REJECT_COLUMNS

_OPTIONS = {
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "constant_memory": True,
}


def write_rejects(
    headers: Sequence[str], rows: Iterable[tuple[int, list[Cell], list[dict[str, str]]]]
) -> bytes:
    """The refused rows (number, cells, problems) as a workbook; text never becomes a formula."""
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, _OPTIONS) as book:
        head = book.add_format({"bold": True, "bottom": 1})
        bad = book.add_format({"bg_color": "#F8C9C4", "font_color": "#8A1C12"})
        sheet = book.add_worksheet("rejects")
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, len(headers) - 1, 18)
        sheet.set_column(len(headers), len(headers) + 2, 24)
        for place, name in enumerate([*headers, *REJECT_COLUMNS]):
            sheet.write_string(0, place, name, head)
        for line, (number, cells, problems) in enumerate(rows, 1):
            marked = {one["column"] for one in problems}
            for place, header in enumerate(headers):
                cell = cells[place] if place < len(cells) else None
                _write(sheet, line, place, cell, bad if header in marked else None)
            sheet.write_number(line, len(headers), number)
            sheet.write_string(line, len(headers) + 1, ", ".join(one["column"] for one in problems))
            sheet.write_string(line, len(headers) + 2, "; ".join(one["message"] for one in problems))
    return buffer.getvalue()


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
    """The rows of a corrected workbook with the numbers that they had, without our three columns."""
    mark = headers.index("_row")
    keep = [place for place, header in enumerate(headers) if header not in REJECT_COLUMNS]
    for row in rows:
        number = row[mark] if mark < len(row) else None
        if isinstance(number, str) and number.strip().isdigit():
            number = int(number)
        if isinstance(number, int | float) and not isinstance(number, bool):
            yield int(number), [row[place] if place < len(row) else None for place in keep]


def is_reject_file(headers: Sequence[str]) -> bool:
    """Whether a file is our workbook of rejects, corrected or not."""
    return all(name in headers for name in REJECT_COLUMNS)
