"""What stands in a sheet, whatever program wrote it?"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from backstay_parts.optional import need

Cell = str | float | int | bool | date | datetime | time | timedelta | None
_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


class BadSheet(ValueError):
    """The bytes are no table that can be read; the message says what to send instead."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: its rows as they stand, the first row included; all rows are equally long."""

    name: str
    rows: list[list[Cell]]


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written."""

    encoding: str
    delimiter: str


def read_sheets(content: bytes) -> list[Sheet]:
    """All sheets of an xlsx, xls or ods file, or the one table of a CSV file; raises `BadSheet`.

    Dates come as dates, numbers as numbers from sheets; a CSV file has text only.
    """
    if not content.strip():
        raise BadSheet("the file is empty")
    if content.startswith((_ZIP, _OLE)):
        return _read_workbook(content)
    form = sniff_csv(content)
    rows = list(_read_csv(content, form))
    return [Sheet("csv", _squared(rows))]


def sniff_csv(content: bytes) -> CsvForm:
    """The encoding and delimiter of a CSV file; raises `BadSheet` for bytes that are no text."""
    encoding = _encoding(content)
    lines = content.decode(encoding).splitlines()[:_SAMPLE_LINES]
    return CsvForm(encoding, _delimiter([line for line in lines if line.strip()]))


def _read_workbook(content: bytes) -> list[Sheet]:
    calamine = need("python_calamine", extra="sheets")
    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        return [
            Sheet(
                name,
                _squared(
                    [[_plain(cell) for cell in row] for row in workbook.get_sheet_by_name(name).to_python()]
                ),
            )
            for name in workbook.sheet_names
        ]
    except calamine.CalamineError as error:
        raise BadSheet("the workbook cannot be read; save it again as .xlsx or as CSV") from error


def _plain(cell: Cell) -> Cell:
    """Empty cells as None; whole numbers as int, as a sheet has no other number than a float."""
    if cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return int(cell)
    return cell


def _encoding(content: bytes) -> str:
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    for mark, encoding in marks.items():
        if content.startswith(mark):
            return encoding
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        best = need("charset_normalizer", extra="sheets").from_bytes(content).best()
        if best is None:
            raise BadSheet("the file is neither a workbook nor text; send .xlsx, .xls, .ods or CSV") from None
        # Latin-1 files of offices are cp1252: the same letters, and the dashes and quotes that Latin-1 lacks.
        name = str(best.encoding)
        return name if name.startswith("utf") else _western(content, name)
    if b"\x00" in content:
        raise BadSheet("the file is neither a workbook nor text; send .xlsx, .xls, .ods or CSV")
    return "utf-8"


def _western(content: bytes, guessed: str) -> str:
    """cp1252 unless the bytes are none: guesses among the one-byte encodings are often exotic ones."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return guessed
    foreign = [letter for letter in text if ord(letter) > 127]
    usual = sum(letter in "äöüÄÖÜßéèêàâçñóíáúôîëïåøæÅØÆ–—‘’“”€£°²³µ§½·… " for letter in foreign)
    return "cp1252" if usual >= len(foreign) / 2 else guessed


def _delimiter(lines: list[str]) -> str:
    """The delimiter that divides the most lines into the same number of cells, two or more."""

    def score(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        common = max(set(widths), key=widths.count)
        return (widths.count(common), common) if common > 1 else (0, 0)

    return max(_DELIMITERS, key=score) if lines else ","


def _read_csv(content: bytes, form: CsvForm) -> Iterator[list[Cell]]:
    text = io.StringIO(content.decode(form.encoding), newline="")
    try:
        for row in csv.reader(text, delimiter=form.delimiter, strict=True):
            yield [cell if cell != "" else None for cell in row]
    except csv.Error as error:
        raise BadSheet(f"the CSV file cannot be read: {error}") from error


def _squared(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Rows of one length, without empty ones at the end."""
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    width = max((len(row) for row in rows), default=0)
    return [row + [None] * (width - len(row)) for row in rows]
