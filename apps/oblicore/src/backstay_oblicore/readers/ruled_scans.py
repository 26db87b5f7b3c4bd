"""Tables on scanned pages: the rulings are found, wiped away before recognition, and words sorted into their cells."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from backstay_oblicore.domain.permits.pages import Table
from backstay_parts.words import Word

Picture = Image.Image
Bits = Any  # a two-dimensional array of booleans; numpy's own type needs its plugin

MOST_SKEW = 2.0
LEAST_SKEW = 0.1
CONTRAST = 45  # how much darker than paper a ruling is
LEAST_WIDTH = 250  # of a horizontal ruling, in pixels at 200 dpi
LEAST_ROW = 24
RULED = 0.9  # share of a band's height that a vertical ruling covers
NEAR = 14
CAPTION_GAP = 110
MOST_ABOVE = 3  # lines between which a caption is looked for
MARKS = "~|‘’'`_=[]{}—–.,:;"


@dataclass(frozen=True)
class Band:
    """One row of a table: between two horizontal rulings, cut by vertical ones."""

    top: float
    bottom: float
    columns: tuple[float, ...]

    def continues(self, other: Band) -> bool:
        """Say whether the other band stands directly below with the same columns."""
        return (
            abs(other.top - self.bottom) <= NEAR
            and len(self.columns) == len(other.columns)
            and all(abs(a - b) <= NEAR for a, b in zip(self.columns, other.columns, strict=True))
        )

    def cell_of(self, word: Word) -> int | None:
        """Return in which cell of this row a word stands."""
        x, y = (word.box.left + word.box.right) / 2, (word.box.top + word.box.bottom) / 2
        if not self.top <= y <= self.bottom:
            return None
        found = [n for n, (left, right) in enumerate(pairwise(self.columns)) if left <= x <= right]
        return found[0] if found else None


def straighten(picture: Picture) -> Picture:
    """Turn a page that lies a little askew, so that its lines run level."""
    small = picture.convert("L").resize((max(picture.width // 4, 1), max(picture.height // 4, 1)))
    angles = np.arange(-MOST_SKEW, MOST_SKEW + 0.01, 0.1)
    paper = int(np.median(np.asarray(small)))

    def sharpness(angle: float) -> float:
        dark = np.asarray(small.rotate(angle, fillcolor=paper)) < paper - CONTRAST
        return float(max(np.var(dark.sum(axis=1)), np.var(dark.sum(axis=0))))

    best = float(max(angles, key=sharpness))
    if abs(best) < LEAST_SKEW:
        return picture
    return picture.rotate(best, resample=Image.Resampling.BICUBIC, fillcolor=_white(picture))


def find_bands(picture: Picture) -> list[Band]:
    """Find the rows of every ruled table on a level page, from the top down."""
    grey = np.asarray(picture.convert("L"))
    dark = grey < int(np.median(grey)) - CONTRAST
    lines = _horizontal_lines(dark)
    bands = []
    for upper, lower in pairwise(lines):
        left, right = max(upper[1], lower[1]), min(upper[2], lower[2])
        if right - left < LEAST_WIDTH or lower[0] - upper[0] < LEAST_ROW:
            continue
        columns = _vertical_lines(dark, (upper[0], lower[0]), (left, right))
        if len(columns) >= 3:
            bands.append(Band(upper[0], lower[0], tuple(columns)))
    return bands


def without_rulings(picture: Picture, bands: Sequence[Band]) -> Picture:
    """Wipe the rulings away: recognition takes them for letters."""
    wiped = picture.copy()
    pen = ImageDraw.Draw(wiped)
    for band in bands:
        left, right = band.columns[0] - 4, band.columns[-1] + 4
        for y in (band.top, band.bottom):
            pen.rectangle((left, y - 4, right, y + 4), fill=_white(picture))
        for x in band.columns:
            pen.rectangle((x - 4, band.top, x + 4, band.bottom), fill=_white(picture))
    return wiped


def sort_into_tables(
    words: Sequence[Word], bands: Sequence[Band], *, page: int
) -> tuple[list[Table], list[Word]]:
    """Return the tables with their words in cells, and the words that stand in none."""
    groups = _grouped(bands)
    ruled = {n for group in groups for n in group}
    outside: list[Word] = []
    cells: dict[tuple[int, int], list[Word]] = defaultdict(list)
    for word in words:
        found = next(((n, cell) for n in sorted(ruled) if (cell := bands[n].cell_of(word)) is not None), None)
        if found is None:
            outside.append(word)
        else:
            cells[found].append(word)
    tables = []
    for group in groups:
        rows = tuple(
            tuple(_text(cells[n, column]) for column in range(len(bands[n].columns) - 1)) for n in group
        )
        ceiling = bands[group[0] - 1].bottom if group[0] else 0.0
        tables.append(Table(page, _caption(outside, bands[group[0]], ceiling=ceiling), rows))
    return tables, outside


def _grouped(bands: Sequence[Band]) -> list[list[int]]:
    groups: list[list[int]] = []
    for number, band in enumerate(bands):
        if groups and bands[groups[-1][-1]].continues(band):
            groups[-1].append(number)
        else:
            groups.append([number])
    return [group for group in groups if len(group) >= 2]


def _caption(words: Sequence[Word], first: Band, *, ceiling: float) -> str:
    """Take the nearest line above that begins with "Table", however wide the lines are set; else the nearest."""
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        if ceiling <= word.box.bottom <= first.top + NEAR:
            lines[word.line].append(word)
    above = sorted(lines.values(), key=lambda line: -max(word.box.bottom for word in line))
    named = next((line for line in above[:MOST_ABOVE] if _text(line).lower().startswith("table")), None)
    near = [line for line in above if max(word.box.bottom for word in line) >= first.top - CAPTION_GAP]
    return _text(named or (near[0] if near else []))


def _text(words: Sequence[Word]) -> str:
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        lines[word.line].append(word)
    ordered = sorted(lines.values(), key=lambda line: min(word.box.top for word in line))
    texts = [word.text for line in ordered for word in sorted(line, key=lambda one: one.box.left)]
    # What is left of a ruling is read as a mark; a small L behind a stroke is read as a capital I.
    kept = " ".join(text for text in texts if text.strip(MARKS))
    return re.sub(r"(?<=g)[lI|]?/[lI|]{1,2}(?=\s|$)", "/l", kept)


def _horizontal_lines(dark: Bits) -> list[tuple[float, float, float]]:
    """Return (y, left, right) of every long level ruling, from the top down."""
    thick = _spread(_spread(dark, 2, axis=0), 1, axis=1)
    places = np.arange(thick.shape[1], dtype=np.int32)
    last_light = np.maximum.accumulate(np.where(thick, np.int32(-1), places), axis=1)
    runs = places - last_light
    length, end = runs.max(axis=1), runs.argmax(axis=1)
    rows = np.flatnonzero(length >= LEAST_WIDTH)
    found = []
    for group in _close_together(rows):
        best = max(group, key=lambda row: int(length[row]))
        found.append((float(np.mean(group)), float(end[best] - length[best]), float(end[best])))
    return found


def _vertical_lines(dark: Bits, rows: tuple[float, float], columns: tuple[float, float]) -> list[float]:
    """Return x of every ruling that runs down the whole of a band."""
    left = max(int(columns[0]) - 8, 0)
    part = dark[int(rows[0]) + 5 : int(rows[1]) - 4, left : int(columns[1]) + 9]
    if part.shape[0] < LEAST_ROW // 2:
        return []
    share = _spread(_spread(part, 2, axis=1), 1, axis=0).mean(axis=0)
    return [left + float(np.mean(group)) for group in _close_together(np.flatnonzero(share >= RULED))]


def _close_together(places: Any) -> list[list[int]]:
    groups: list[list[int]] = []
    for place in places.tolist():
        if groups and place - groups[-1][-1] <= 4:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _spread(dark: Bits, by: int, *, axis: int) -> Bits:
    """Let dark points spread to both sides, so that small gaps and a rest of skew do no harm."""
    spread = dark.copy()
    for step in range(1, by + 1):
        ahead = np.roll(dark, step, axis=axis)
        behind = np.roll(dark, -step, axis=axis)
        spread |= ahead | behind
    return spread


def _white(picture: Picture) -> Any:
    return 255 if picture.mode == "L" else tuple(255 for _ in picture.getbands())
