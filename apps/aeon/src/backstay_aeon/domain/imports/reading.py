"""From a file of unknown form to rows: which format, encoding, delimiter and head it has, and its rows one by one."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import charset_normalizer
import python_calamine

from backstay_aeon.domain.errors import ValidationError
from backstay_aeon.domain.imports.columns import Cell, is_empty

SAMPLE_BYTES = 256 * 1024
SAMPLE_LINES = 200
LARGEST_UNPACKED = 1_000_000_000
LARGEST_RATIO = 200
LONGEST_CELL = 1_000_000
DELIMITERS = ",;\t|"
MOSTLY = 0.8
FORMATS = ("csv", "tsv", "xlsx", "jsonl", "json")


@dataclass(frozen=True, slots=True)
class Form:
    """How a file is written."""

    format: str
    encoding: str = "utf-8"
    delimiter: str = ","
    sheet: str = ""
    skip: int = 0
    headers: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As it is stored and shown."""
        return {**asdict(self), "headers": list(self.headers)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Form:
        """Read what was stored."""
        return cls(**{**stored, "headers": tuple(stored["headers"])})


def sniff(path: Path, name: str = "", wanted: str = "") -> Form:
    """Find out how a file is written; raises ValidationError with what to send instead.

    `wanted` is the format that somebody says it has: another one is refused.
    """
    form = _sniff(path, "x.tsv" if wanted == "tsv" else name)
    if wanted and form.format != wanted:
        raise ValidationError(f"the format is said to be {wanted}, but the file is {form.format}")
    return form


def _sniff(path: Path, name: str) -> Form:
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    if not sample.strip():
        raise ValidationError("the file is empty")
    if sample.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return _sniff_workbook(path)
    encoding = _encoding(sample)
    text = sample.decode(encoding, errors="ignore").lstrip("\ufeff")
    if text.lstrip().startswith(("{", "[")):
        return _sniff_json(path, encoding, is_list=text.lstrip().startswith("["))
    lines = [line for line in text.splitlines()[:SAMPLE_LINES] if line.strip()]
    if len(text) >= SAMPLE_BYTES // 4 and len(lines) > 1:
        lines.pop()  # cut off by the sample
    delimiter = "\t" if name.lower().endswith(".tsv") else _delimiter(lines)
    rows = list(csv.reader(lines, delimiter=delimiter))
    skip = _head_row(rows)
    kind = "tsv" if delimiter == "\t" else "csv"
    return Form(kind, encoding, delimiter, skip=skip, headers=_headers(rows[skip]))


def read_rows(path: Path, form: Form) -> Iterator[list[Cell]]:
    """The rows below the head, each as long as it is in the file; blank ones are left out."""
    rows = _READERS[form.format](path, form)
    return (row for row in rows if not all(is_empty(cell) for cell in row))


def _encoding(sample: bytes) -> str:
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if sample.startswith(mark):
            return name
    if b"\x00" in sample[:4]:
        # No mark, yet every second byte of Latin text is empty.
        return "utf-16-be" if sample[0] == 0 else "utf-16-le"
    if b"\x00" in sample:
        raise ValidationError("the file is neither a table nor text; send CSV, TSV, XLSX or JSON lines")
    try:
        # The sample may end inside a letter.
        sample.decode("utf-8") if len(sample) < SAMPLE_BYTES else sample[:-4].decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        if error.start >= len(sample) - 8 and len(sample) >= SAMPLE_BYTES:
            return "utf-8"
        return _one_byte(sample)
    return "utf-8"


def _one_byte(sample: bytes) -> str:
    """cp1252 where the bytes are any: guesses among one-byte encodings are often exotic ones."""
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        best = charset_normalizer.from_bytes(sample).best()
        if best is None:
            raise ValidationError("the encoding of the file is unknown; send it as UTF-8") from None
        return str(best.encoding)
    foreign = [letter for letter in text if ord(letter) > 127]
    usual = sum(letter.isalpha() or letter in "–—‘’“”€£°²³§½… \u00a0" for letter in foreign)
    return "cp1252" if usual >= 0.6 * len(foreign) else "latin-1"


def _delimiter(lines: list[str]) -> str:
    """The delimiter that divides most lines into the most cells; else the one that divides the most lines alike.

    A few ragged lines must not let the commas of decimals win, of which each line has one.
    """

    def score(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        common = max(set(widths), key=widths.count)
        alike = widths.count(common) if common > 1 else 0
        return (common if alike >= MOSTLY * len(widths) else 0, alike)

    return max(DELIMITERS, key=score) if lines else ","


def _head_row(rows: list[list[Any]]) -> int:
    """The first row that is as wide as most rows and has no empty cell: titles above the head are passed over."""
    widths = [sum(not is_empty(cell) for cell in row) for row in rows]
    if not widths:
        raise ValidationError("the file has no rows")
    usual = max(set(widths), key=lambda width: (widths.count(width), width))
    for number, width in enumerate(widths):
        if width >= usual:
            return number
    return 0


def _headers(row: list[Any]) -> tuple[str, ...]:
    """The names in the head; empty ones get the name of their place, equal ones a number."""
    names: list[str] = []
    for place, cell in enumerate(row):
        name = str(cell).strip() if not is_empty(cell) else f"column {place + 1}"
        names.append(name if name not in names else f"{name} {place + 1}")
    while names and names[-1].startswith("column ") and is_empty(row[len(names) - 1]):
        names.pop()
    if not names:
        raise ValidationError("the file has no head: the first row names the columns")
    return tuple(names)


def _sniff_workbook(path: Path) -> Form:
    refuse_bomb(path)
    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        for name in book.sheet_names:
            rows = _sheet(book, name)
            if rows:
                skip = _head_row(rows[:SAMPLE_LINES])
                return Form("xlsx", sheet=name, skip=skip, headers=_headers(rows[skip]))
    except (python_calamine.CalamineError, OSError) as error:
        raise ValidationError(
            "the workbook cannot be read; save it again as .xlsx, or send it as CSV"
        ) from error
    raise ValidationError("the workbook has no rows")


def refuse_bomb(path: Path) -> None:
    """Refuse an archive that unpacks to far more than it is, before anything is unpacked."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(one.file_size for one in archive.infolist())
            packed = sum(one.compress_size for one in archive.infolist()) or 1
    except zipfile.BadZipFile as error:
        raise ValidationError("the archive is damaged; save the file again") from error
    if unpacked > LARGEST_UNPACKED or (unpacked > 50_000_000 and unpacked / packed > LARGEST_RATIO):
        raise ValidationError(
            f"the file would unpack to {unpacked // 1_000_000} MB, which is refused; send the table as CSV"
        )


def _sniff_json(path: Path, encoding: str, *, is_list: bool) -> Form:
    form = Form("json" if is_list else "jsonl", encoding)
    names: dict[str, None] = {}
    for number, row in enumerate(_objects(path, form)):
        names.update(dict.fromkeys(row))
        if number >= SAMPLE_LINES:
            break
    return Form(form.format, encoding, headers=_headers(list(names)))


def _read_text(path: Path, form: Form) -> Iterator[list[Cell]]:
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding=form.encoding, newline="", errors="strict") as file:
        reader = csv.reader(file, delimiter=form.delimiter)
        wanted = form.skip + 1
        try:
            for row in reader:
                if wanted > 0:
                    wanted -= any(cell.strip() for cell in row)
                    continue
                yield list(row)
        except csv.Error as error:
            raise ValidationError(f"line {reader.line_num} of the file cannot be read: {error}") from error
        except UnicodeError as error:
            raise ValidationError(
                f"after line {reader.line_num} the file is not {form.encoding} any more; send it as UTF-8"
            ) from error


def _read_workbook(path: Path, form: Form) -> Iterator[list[Cell]]:
    refuse_bomb(path)
    try:
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        rows = _sheet(book, form.sheet)
    except (python_calamine.CalamineError, OSError) as error:
        raise ValidationError("the workbook cannot be read; save it again as .xlsx") from error
    width = len(form.headers)
    for row in rows[form.skip + 1 :]:
        cells = [None if cell == "" else cell for cell in row]
        yield cells[:width] if all(cell is None for cell in cells[width:]) else cells


def _sheet(book: Any, name: str) -> list[list[Any]]:
    rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    return [row for row in rows if any(cell != "" for cell in row)]


def _read_json(path: Path, form: Form) -> Iterator[list[Cell]]:
    for row in _objects(path, form):
        extra = [row[name] for name in row if name not in form.headers]
        yield [_plain(row.get(name)) for name in form.headers] + [_plain(cell) for cell in extra]


def _objects(path: Path, form: Form) -> Iterator[dict[str, Any]]:
    with path.open(encoding=form.encoding) as file:
        if form.format == "json":
            try:
                whole = json.load(file)
            except ValueError as error:
                raise ValidationError(f"the file is not JSON: {error}") from error
            lines: Iterator[tuple[int, Any]] = iter(enumerate(whole, 1))
        else:
            lines = _lines(file)
        for number, row in lines:
            if not isinstance(row, dict):
                raise ValidationError(f"row {number} of the file is no JSON object")
            yield row


def _lines(file: Any) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield number, json.loads(line.lstrip("\ufeff"))
            except ValueError as error:
                raise ValidationError(f"line {number} of the file is not JSON: {error}") from error


def _plain(cell: Any) -> Cell:
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, dict | list) else cell


_READERS = {
    "csv": _read_text,
    "tsv": _read_text,
    "xlsx": _read_workbook,
    "jsonl": _read_json,
    "json": _read_json,
}
