"""Tables are read whatever wrote them, and none that we write holds a formula."""

import io
from datetime import date

import openpyxl
import pytest
import xlwt
from hypothesis import given
from hypothesis import strategies as st

from backstay_parts.sheets import BadSheet, escaped, read_sheets, sniff_csv, write_csv, write_xlsx

ROWS = [["Straße", "Menge", "Tag"], ["Mühle – West", 12, date(2026, 3, 29)], [None, 2.5, None]]


def test_an_excel_file_reads_back_with_its_types() -> None:
    (sheet,) = read_sheets(write_xlsx({"Orte": ROWS}))

    assert sheet.name == "Orte"
    assert sheet.rows == ROWS


def test_an_old_excel_file_is_read() -> None:
    book = xlwt.Workbook()
    page = book.add_sheet("alt")
    page.write(0, 0, "n")
    page.write(1, 0, 7)
    page.write(2, 0, date(2026, 3, 29), xlwt.easyxf(num_format_str="yyyy-mm-dd"))
    content = io.BytesIO()
    book.save(content)

    assert read_sheets(content.getvalue())[0].rows == [["n"], [7], [date(2026, 3, 29)]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_csv_file_is_read_whatever_its_form(encoding: str, delimiter: str) -> None:
    lines = [["Name", "Ort", "Bemerkung"], ["Jürgen", "Köln", "groß – sehr"], ["Zoë", "Fürth", "x"]]
    content = "\r\n".join(delimiter.join(line) for line in lines).encode(encoding)

    assert sniff_csv(content).delimiter == delimiter
    assert read_sheets(content)[0].rows == lines


def test_delimiters_inside_quotes_are_text() -> None:
    content = b'a;b\n"1,5; rest";2\n"x\ny";3\n'

    assert read_sheets(content)[0].rows == [["a", "b"], ["1,5; rest", "2"], ["x\ny", "3"]]


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\xff\xfe\x80", b"PK\x03\x04 not a zip", b"a\x00b"])
def test_what_is_no_table_is_refused(content: bytes) -> None:
    with pytest.raises(BadSheet):
        read_sheets(content)


@pytest.mark.parametrize("text", ["=1+1", "+49 171", "-2", "@SUM(A1)", "\t=1"])
def test_text_that_a_program_would_run_is_defused(text: str) -> None:
    rows = read_sheets(write_csv([["head"], [text]]))[0].rows
    workbook = openpyxl.load_workbook(io.BytesIO(write_xlsx({"s": [["head"], [text]]})))

    assert rows[1] == ["'" + text]
    assert workbook.active is not None
    assert workbook.active["A2"].data_type == "s"
    assert workbook.active["A2"].value == text


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc"))))
def test_an_escaped_cell_never_starts_a_formula(text: str) -> None:
    assert not str(escaped(text)).startswith(("=", "+", "-", "@"))
