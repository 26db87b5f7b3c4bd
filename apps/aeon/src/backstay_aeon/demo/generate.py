"""A messy table, the truth about it, and how a person would correct it."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass, field
from datetime import date, timedelta

import openpyxl  # type: ignore[import-untyped]  # its stubs are not installed everywhere

CUSTOMERS = {
    "key": "customer_no",
    "columns": [
        {"name": "customer_no", "required": True, "aliases": ["Kundennummer", "Kunden-Nr"]},
        {"name": "name", "required": True, "aliases": ["Firma"]},
        {"name": "email", "type": "email", "aliases": ["E-Mail"]},
        {"name": "city", "aliases": ["Ort"]},
        {"name": "since", "type": "date", "aliases": ["Kunde seit"]},
        {"name": "credit", "type": "decimal", "aliases": ["Guthaben"]},
        {"name": "active", "type": "boolean", "aliases": ["Aktiv"]},
    ],
}
HEAD = ["Kundennummer", "Firma", "E-Mail", "Ort", "Kunde seit", "Guthaben", "Aktiv"]
FAULTS = ("date", "missing", "duplicate", "number", "ragged")


@dataclass
class Truth:
    """What must come of a table."""

    rows: int
    good: int = 0
    refused: dict[str, int] = field(default_factory=dict)


def messy(rows: int, *, seed: int, prefix: str, share: float = 0.015) -> tuple[bytes, Truth]:
    """A CSV of an office: cp1252, semicolons, German head, faults of five kinds; and the truth."""
    chance, truth = random.Random(seed), Truth(rows)  # noqa: S311 - a fixture, not a secret
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(HEAD)
    for number in range(1, rows + 1):
        day = date(2015, 1, 1) + timedelta(days=chance.randrange(4000))
        row = [
            f"{prefix}{number:07}",
            f"Müller & Söhne {number}",
            f"kunde{number}@example.org",
            chance.choice(["Köln", "Zürich", "Århus"]),
            f"{day:%d.%m.%Y}",
            f"{chance.randrange(100_000) / 100:.2f}".replace(".", ","),
            chance.choice(["ja", "nein"]),
        ]
        fault = chance.choice(FAULTS) if number > 1 and chance.random() < share else ""
        if fault == "date":
            row[4] = "31.02.2020"
        elif fault == "missing":
            row[1] = ""
        elif fault == "duplicate":
            row[0] = f"{prefix}{1:07}"
        elif fault == "number":
            row[5] = "=1+1"
        elif fault == "ragged":
            row.append("zuviel")
        if fault:
            truth.refused[fault] = truth.refused.get(fault, 0) + 1
        else:
            truth.good += 1
        writer.writerow(row)
    return text.getvalue().encode("cp1252"), truth


def correct_workbook(content: bytes) -> bytes:
    """Mend each marked row as its reason says."""
    book = openpyxl.load_workbook(io.BytesIO(content))
    sheet = book["rejects"]
    for line in range(2, sheet.max_row + 1):
        number, reason = int(sheet.cell(line, 8).value), str(sheet.cell(line, 10).value)
        if "no day" in reason:
            sheet.cell(line, 5).value = "28.02.2020"
        elif "name is empty" in reason:
            sheet.cell(line, 2).value = "Nachgetragen"
        elif "earlier row" in reason:
            sheet.cell(line, 1).value = f"N{number:07}"
        elif "not a number" in reason:
            sheet.cell(line, 6).value = "2"
        elif "cells and the head" in reason:
            sheet.cell(line, 11).value = None
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
