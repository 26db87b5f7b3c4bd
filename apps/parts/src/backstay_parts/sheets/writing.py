"""How is a table written so that no cell of it becomes a formula?"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from backstay_parts.optional import need
from backstay_parts.sheets.reading import Cell

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def escaped(cell: Cell) -> Cell:
    """The cell as it may stand in a CSV file: text that a sheet program would run gets an apostrophe before it."""
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return "'" + cell
    return cell


def write_csv(rows: Iterable[Sequence[Cell]], *, delimiter: str = ",") -> bytes:
    """A CSV file in UTF-8 with a byte order mark, which Excel needs to see the encoding."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    for row in rows:
        writer.writerow(["" if cell is None else _csv_cell(cell) for cell in row])
    return text.getvalue().encode("utf-8-sig")


def write_xlsx(sheets: Mapping[str, Iterable[Sequence[Cell]]]) -> bytes:
    """An Excel file; the first row of each sheet is its head. Text is written as text, never as a formula or link."""
    buffer = io.BytesIO()
    options = {
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "remove_timezone": True,
        "in_memory": True,
    }
    with need("xlsxwriter", extra="sheets").Workbook(buffer, options) as book:
        formats = {
            "head": book.add_format({"bold": True, "bottom": 1}),
            "date": book.add_format({"num_format": "yyyy-mm-dd"}),
            "time": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        }
        for name, rows in sheets.items():
            _write_sheet(book.add_worksheet(name), rows, formats)
    return buffer.getvalue()


def _write_sheet(sheet: Any, rows: Iterable[Sequence[Cell]], formats: Mapping[str, Any]) -> None:
    sheet.freeze_panes(1, 0)
    widths: dict[int, int] = {}
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if cell is None:
                continue
            widths[column] = min(60, max(widths.get(column, 8), len(str(cell)) + 2))
            _write_cell(sheet, number, column, cell, formats)
    for column, width in widths.items():
        sheet.set_column(column, column, width)


def _write_cell(sheet: Any, number: int, column: int, cell: Cell, formats: Mapping[str, Any]) -> None:
    look = formats["head"] if number == 0 else None
    if isinstance(cell, str):
        sheet.write_string(number, column, cell, look)
    elif isinstance(cell, datetime):
        sheet.write_datetime(number, column, cell, formats["time"])
    elif isinstance(cell, date):
        sheet.write_datetime(number, column, cell, formats["date"])
    else:
        sheet.write(number, column, cell, look)


def _csv_cell(cell: Cell) -> Cell:
    safe = escaped(cell)
    return safe.isoformat() if isinstance(safe, date) else safe
