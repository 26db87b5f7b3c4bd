"""Pages of a document as pictures, and where its clauses stand on them."""

import io
from collections.abc import Sequence
from typing import Any

from backstay.kit import Box
from backstay_parts.pdf import open_pdf
from backstay_parts.words import Box as Frame

DPI = 110


def page_picture(content: bytes, page: int) -> bytes:
    """Render one page."""
    buffer = io.BytesIO()
    with open_pdf(content) as pdf:
        pdf.render(page, dpi=DPI).convert("RGB").save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def clause_boxes(
    content: bytes, page: int, rows: Sequence[dict[str, Any]], recognised: Sequence[Sequence[Any]] = ()
) -> tuple[float, float, list[Box]]:
    """Return the page's size and a box around each clause that is found on it; a scan has its recognised words."""
    with open_pdf(content) as pdf:
        if page > pdf.page_count:
            return 595.0, 842.0, []
        found = pdf.page(page)
    words = [(_plain(word.text), word.box) for word in found.words]
    if recognised:
        words = [(_plain(text), Frame(*box)) for text, *box in recognised]
    words = [one for one in words if one[0]]
    boxes = []
    for row in rows:
        box = _around(words, [_plain(word) for word in row["original_text"].split()])
        if box:
            left, top, right, bottom = box
            boxes.append(
                Box(
                    left,
                    top,
                    right - left,
                    bottom - top,
                    row["condition_reference"] or "",
                    "warn" if row["status"] == "OVERDUE" else "info",
                    f"/obligations/{row['id']}",
                    str(row["id"]),
                )
            )
    return found.width, found.height, boxes


def _around(
    words: Sequence[tuple[str, Any]], clause: Sequence[str]
) -> tuple[float, float, float, float] | None:
    wanted = [word for word in clause if word]
    if not wanted:
        return None
    opening = wanted[: min(5, len(wanted))]
    texts = [text for text, _ in words]
    for start in range(len(texts) - len(opening) + 1):
        if texts[start : start + len(opening)] == opening:
            length = min(len(wanted), len(words) - start)
            found = [box for _, box in words[start : start + length]]
            return (
                min(box.left for box in found) - 2,
                min(box.top for box in found) - 2,
                max(box.right for box in found) + 2,
                max(box.bottom for box in found) + 2,
            )
    return None


def _plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())
