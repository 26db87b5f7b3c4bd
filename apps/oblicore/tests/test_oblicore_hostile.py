"""Fifty hostile strings as titles, names and files: text on every page and on paper, no formula in any export."""

from __future__ import annotations

import csv
import html
import io
from datetime import date
from typing import Any

import openpyxl
import pdfplumber
import pytest
from oblicore_browsing import logged_in
from test_oblicore_packs import EVIDENCE, request, stored

from backstay_oblicore import intake

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "'><b>bold</b>",
    "</title><script>alert(1)</script>", "</textarea><h1>x</h1>", "<!--", "-->", "]]>", "<![CDATA[x]]>",
    "javascript:alert(1)", "data:text/html,<script>1</script>", "{{7*7}}", "{% raw %}", "${7*7}", "#{7*7}",
    "<%= 7*7 %>", "{{''.__class__}}", "%7B%7B7*7%7D%7D", "%s%s%n", "{0.__class__}", "=1+1", "+1+1", "-1+1", "@SUM(A1)",
    "=HYPERLINK(\"http://evil.example\",\"x\")", "=cmd|'/c calc'!A1", "\t=1+1", "\r=1+1", " =1+1", "|calc",
    "'; DROP TABLE x;--",
    "\" OR 1=1 --", "\\'; --", "../../etc/passwd", "..\\..\\win.ini", "/etc/passwd", "con", "a" * 5000,
    "\u202eevil.pdf", "\u200bzero", "e\u0301" * 40, "\U0001f9ea\U0001f468\u200d\U0001f469",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "line\nbreak", "tab\there", "&lt;b&gt;", "&amp;&#x41;", "<b", "a</para></b><font color=red>",
)  # fmt: skip


def is_text_in(page: str, string: str) -> bool:
    """Say whether a string stands in a page as text, whatever the spaces."""
    shown = " ".join(html.unescape(page).split())
    return " ".join(string.split())[:60] in shown


async def furnished(world: Any) -> Any:
    paper = await world.document(title=HOSTILE[0], permit_number=HOSTILE[21], page_count=1)
    await world.execute("UPDATE oblicore.sites SET name = $1", HOSTILE[1])
    for number, string in enumerate(HOSTILE):
        await world.obligation(
            paper,
            summary=string,
            original_text=string,
            condition_reference=f"1.{number}",
            frequency="ONE_TIME",
            deadline_date=date(2026, 6, 1),
            base_date=date(2026, 6, 1),
            status="OVERDUE",
        )
    return paper


@pytest.mark.timeout(300)
async def test_hostile_strings_are_text_on_every_page(world: Any, address: str) -> None:
    """OBL-030"""
    assert len(HOSTILE) == 50
    paper = await furnished(world)
    duties = await world.rows("SELECT id, summary FROM oblicore.obligations")
    async with logged_in(world, address, world.manager) as browser:
        pages = [
            "/obligations",
            "/",
            f"/documents/{paper}",
            "/documents",
            "/calendar?month=2026-06",
            "/review-queue",
        ]
        shown = {path: await browser.get(path) for path in pages}
        for path, answer in shown.items():
            assert answer.status_code == 200, path
            for raw in ("<script>alert", "<img src=x", "<svg onload", "<font color=red>", ">49<"):
                assert raw not in answer.text, (path, raw)
        register = shown["/obligations"].text
        for row in duties:
            assert is_text_in(register, row["summary"]), row["summary"][:40]
            answer = await browser.get(f"/obligations/{row['id']}")
            assert answer.status_code == 200
            assert is_text_in(answer.text, row["summary"]), row["summary"][:40]
            assert "<script>alert" not in answer.text


async def test_no_export_holds_a_formula(world: Any, address: str) -> None:
    """OBL-030"""
    await furnished(world)
    async with logged_in(world, address, world.manager) as browser:
        table = (await browser.get("/register.csv")).content.decode("utf-8-sig")
        book = openpyxl.load_workbook(io.BytesIO((await browser.get("/register.xlsx")).content))
        calendar = (await browser.get("/register.ics")).text
    rows = list(csv.reader(io.StringIO(table)))
    assert len(rows) == 1 + len(HOSTILE)
    starts = {cell[:1] for row in rows for cell in row if not _is_number(cell)}
    assert not starts & set("=+-@\t\r"), starts & set("=+-@\t\r")
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert {cell.data_type for cell in cells} <= {"s", "n", "d", "b"}
    assert "=1+1" in " ".join(str(cell.value) for cell in cells)
    assert calendar.count("BEGIN:VEVENT") == calendar.count("END:VEVENT") == len(HOSTILE)


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).lstrip("-").isdigit()


@pytest.mark.timeout(300)
async def test_hostile_strings_are_text_on_paper(world: Any) -> None:
    """OBL-074"""
    paper = await furnished(world)
    duty = await world.value("SELECT id FROM oblicore.obligations WHERE condition_reference = '1.0'")
    for number, content in enumerate((EVIDENCE, b"%PDF-1.4 nonsense", b"plain words")):
        await intake.add_evidence(
            world.services, content, user=world.manager, site=world.site,
            file_name=f"{HOSTILE[1 + number]}.pdf", obligations=[duty],
        )  # fmt: skip

    await world.run("AUDIT_PACK_GENERATION", **request(world, paper))

    row, content = await stored(world)
    with pdfplumber.open(io.BytesIO(content)) as pdf:
        text = " ".join(" ".join(page.extract_text().split()) for page in pdf.pages)
    assert row["total_obligations"] == len(HOSTILE)
    for string in ("<script>alert(1)</script>", "{{7*7}}", "=1+1", "&lt;b&gt;"):
        assert string in text
