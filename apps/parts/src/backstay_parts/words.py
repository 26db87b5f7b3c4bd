"""What stands on a page: words with their boxes, the same whether read from a PDF or from a scan."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels (scans) or points (PDF); the origin is the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Shared area divided by the area of both together: 0 apart, 1 equal."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        if width <= 0 or height <= 0:
            return 0.0
        shared = width * height
        return shared / (self.area + other.area - shared)

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.right - self.left) * (self.bottom - self.top)

    def scaled(self, factor: float) -> "Box":
        """The same rectangle in another resolution."""
        return Box(self.left * factor, self.top * factor, self.right * factor, self.bottom * factor)


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box that holds all of them; raises `ValueError` for none."""
    every = list(boxes)
    if not every:
        raise ValueError("no boxes to put a box around")
    return Box(
        min(box.left for box in every),
        min(box.top for box in every),
        max(box.right for box in every),
        max(box.bottom for box in every),
    )


@dataclass(frozen=True, slots=True)
class Word:
    """One word, where it stands, and how sure the reader is of it (0 to 1)."""

    text: str
    box: Box
    confidence: float
    line: int
    """Number of the line on its page, rising in reading order."""


@dataclass(frozen=True, slots=True)
class TextPage:
    """The words of one page in reading order; boxes are those of the upright page."""

    number: int
    width: float
    height: float
    words: tuple[Word, ...]
    turn: int = 0
    """Degrees by which the given picture was turned clockwise to stand upright: 0, 90, 180 or 270."""

    @property
    def lines(self) -> list[tuple[Word, ...]]:
        """The words by line."""
        return [tuple(words) for _, words in groupby(self.words, key=lambda word: word.line)]

    @property
    def text(self) -> str:
        """The lines as text, one a line."""
        return "\n".join(" ".join(word.text for word in line) for line in self.lines)

    @property
    def mean_confidence(self) -> float:
        """Mean over the words, weighted by their length; 0 for an empty page."""
        letters = sum(len(word.text) for word in self.words)
        return sum(word.confidence * len(word.text) for word in self.words) / letters if letters else 0.0
