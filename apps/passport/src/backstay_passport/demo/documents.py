"""Example documents in four formats: JSON, XML, PDF with text, and PDF of a scan."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, Spacer, Table, TableStyle

from backstay_parts.pdf import PageFrame, open_pdf, write_pdf
from backstay_parts.scans import Damage, damaged

_SINGULAR = {
    "materials": "material",
    "substances": "substance",
    "spare_parts": "source",
    "components": "component",
}


def as_json(content: Any) -> bytes:
    """Write a document as JSON; decimals as numbers with all their digits."""
    return _json(content).encode()


def _json(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_json(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value)


def as_xml(content: Any, root: str = "document") -> bytes:
    """Write a document as XML, an element for each field."""
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + _element(root, content)).encode()


def _element(name: str, value: Any) -> str:
    if isinstance(value, dict):
        inner = "".join(_element(key, part) for key, part in value.items())
    elif isinstance(value, list):
        single = _SINGULAR.get(name, name.removesuffix("s") or "item")
        inner = "".join(_element(single if single != name else "item", part) for part in value)
    else:
        inner = escape(_shown(value))
    return f"<{name}>{inner}</{name}>"


def _shown(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def table_pdf(title: str, headings: Sequence[tuple[str, str]], entries: Sequence[dict[str, Any]]) -> bytes:
    """Write entries as a table, a row each; headings are pairs of field and label."""
    rows: list[list[Any]] = [[label for _, label in headings]]
    for entry in entries:
        rows.append(["" if entry.get(field) is None else _shown(entry[field]) for field, _ in headings])
    return _pdf(title, [_grid(rows, size=9)])


def form_pdf(title: str, entries: Sequence[dict[str, Any]]) -> bytes:
    """Write entries as forms, a label and a value in each row."""
    parts: list[Any] = []
    for entry in entries:
        rows = [[label, _shown(value)] for label, value in _form_rows(entry, "")]
        parts += [_grid(rows), Spacer(1, 14)]
    return _pdf(title, parts)


def _form_rows(value: Any, prefix: str) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, part in value.items():
        label = f"{prefix}{name.replace('_', ' ').capitalize() if not prefix else name.replace('_', ' ')}"
        if isinstance(part, dict):
            rows += _form_rows(part, f"{label} / ")
        elif isinstance(part, list):
            for number, item in enumerate(part, start=1):
                if isinstance(item, dict):
                    rows += _form_rows(item, f"{label} {number} / ")
                else:
                    rows.append((f"{label} {number}", item))
        else:
            rows.append((label, part))
    return rows


def _grid(rows: list[list[Any]], size: float = 10.5) -> Table:
    style = TableStyle(
        [("FONTSIZE", (0, 0), (-1, -1), size), ("LINEBELOW", (0, 0), (-1, -1), 0.25, colors.lightgrey)]
    )
    return Table(rows, style=style, hAlign="LEFT", repeatRows=0)


def _pdf(title: str, parts: list[Any]) -> bytes:
    heading = getSampleStyleSheet()["Title"]
    return write_pdf(PageFrame(title), [Paragraph(escape(title), heading), Spacer(1, 10), *parts])


def as_scan(pdf: bytes, *, seed: int = 1, skew: float = 0.8, noise: float = 6, dpi: int = 300) -> bytes:
    """Turn a PDF into one of pictures: each page rendered, turned a little, with noise."""
    pictures = []
    with open_pdf(pdf) as source:
        for number in range(1, source.page_count + 1):
            page = source.render(number, dpi=dpi)
            pictures.append(
                damaged(page, Damage(skew_degrees=skew, noise=noise), seed=seed + number).convert("L")
            )
    target = io.BytesIO()
    pictures[0].save(target, "PDF", resolution=dpi, save_all=True, append_images=pictures[1:])
    return target.getvalue()
