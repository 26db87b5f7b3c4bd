"""PDF: what a passport says, with the code that proves it, for paper and archives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.platypus import Paragraph, Spacer, Table, TableStyle

from backstay_parts.pdf import PageFrame, write_pdf
from backstay_passport.domain.fields import ROOTS, Field


def passport_pdf(payload: dict[str, Any], receipt: dict[str, Any], qr_text: str | None) -> bytes:
    """Return a passport as PDF; the same version gives the same bytes."""
    styles = getSampleStyleSheet()
    small = ParagraphStyle("small", parent=styles["BodyText"], fontSize=8, leading=10)
    parts: list[Any] = [Paragraph("Battery passport", styles["Title"]), Spacer(1, 6)]
    facts = [
        ("Passport", payload["passport_id"]),
        ("Version", payload["passport_version_id"]),
        ("Issued at", receipt["issued_at"]),
        ("Signing key", receipt["signing_key_id"]),
        ("Payload hash", receipt["payload_hash"]),
        ("Proof root", receipt["proof_root_hash"]),
    ]
    parts.append(_table(facts, small))
    for name, root in ROOTS.items():
        if name in payload["submodels"]:
            parts += [Spacer(1, 8), Paragraph(words(name), styles["Heading2"])]
            parts.append(_table(list(rows(root, payload["submodels"][name])), small))
    frame = PageFrame("Battery passport", foot=payload["passport_version_id"], qr_text=qr_text)
    return write_pdf(frame, parts)


def rows(entry: Field, value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give the labels and texts of a field and all that is in it."""
    if isinstance(value, list):
        for number, item in enumerate(value, start=1):
            numbered = f"{prefix} {number}" if len(value) > 1 else prefix
            yield from (
                rows(entry, item, numbered) if isinstance(item, dict) else [(numbered, shown(entry, item))]
            )
    elif isinstance(value, dict):
        for name, part in value.items():
            child = entry.children.get(name, entry)
            label = f"{prefix}, {words(name).lower()}" if prefix else words(name)
            yield from rows(child, part, label)
    else:
        yield prefix, shown(entry, value)


# People are spared the data model's spelling mistakes.
LABELS = {
    "warrentyPeriod": "Warranty period",
    "batteryTechicalProperties": "Technical properties",
    "thirdPartyAussurances": "Third-party assurances",
    "supplyChainIndicies": "Supply chain indices",
    "remainingEnergyalue": "Remaining energy",
    "roundTripEfficiencyat50PerCentCycleLife": "Round trip efficiency at 50 % of cycle life",
}


def words(name: str) -> str:
    """Return a name of the data model as words."""
    if name in LABELS:
        return LABELS[name]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return spaced[:1].upper() + spaced[1:].lower()


UNIT_TEXTS = {
    "each": "",
    "pct": "%",
    "kgCO2e_per_kWh": "kg CO₂e per kWh",
    "kgCO2e": "kg CO₂e",
    "degC": "°C",
    "ohm": "Ω",
    "year": "years",
    "minute": "minutes",
}


def shown(entry: Field, value: Any) -> str:
    """Return a value with its unit, for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        value = _time_in_words(value)
    unit = UNIT_TEXTS.get(entry.unit, entry.unit)
    return f"{value} {unit}".strip()


def _time_in_words(text: str) -> str:
    # The data model writes a day as its midnight, and a warranty as a duration.
    if day := re.fullmatch(r"(\d{4}-\d{2}-\d{2})T00:00:00Z", text):
        return day[1]
    if months := re.fullmatch(r"P(\d+)M", text):
        return f"{months[1]} months"
    return text


def _table(facts: list[tuple[str, str]], style: ParagraphStyle) -> Table:
    cells = [[Paragraph(escape(label), style), Paragraph(_plain(text), style)] for label, text in facts]
    grid = TableStyle(
        [("LINEBELOW", (0, 0), (-1, -1), 0.25, colors.lightgrey), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    )
    return Table(cells or [["", ""]], colWidths=[200, 280], style=grid, hAlign="LEFT")


def _plain(text: str) -> str:
    # The fonts of every PDF reader have no small digits.
    return escape(text.replace("₂", "2").replace("Ω", "ohm"))
