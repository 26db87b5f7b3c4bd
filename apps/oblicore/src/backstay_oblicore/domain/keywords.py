"""Words in a permit that suggest another module."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MODULE_2_KEYWORDS = (
    "trade effluent",
    "discharge consent",
    "water company",
    "sewer",
    "effluent",
    "discharge to drain",
)
MODULE_3_KEYWORDS = (
    "generator",
    "mcpd",
    "standby power",
    "chp",
    "combustion plant",
    "back-up generator",
)
FULL_CONFIDENCE_AT = 5


@dataclass(frozen=True)
class Detection:
    """Which keywords a text holds."""

    keywords: tuple[str, ...]
    occurrences: int
    words: int

    @property
    def confidence(self) -> float:
        """Grow with the number of different keywords, up to one."""
        return min(len(self.keywords) / FULL_CONFIDENCE_AT, 1.0)

    @property
    def density(self) -> float:
        """Occurrences for each word of the text."""
        return self.occurrences / self.words if self.words else 0.0


def detect(text: str, keywords: Sequence[str]) -> Detection:
    """Find whole keywords; inside a longer keyword that was found, a shorter one does not count again."""
    rest = normalise(text)
    words = len(rest.split())
    found: dict[str, int] = {}
    for keyword in sorted(keywords, key=len, reverse=True):
        wanted = normalise(keyword)
        if not wanted:
            continue
        pattern = re.compile(rf"\b{re.escape(wanted)}(?:s|es)?\b")
        rest, hits = pattern.subn("\N{MIDDLE DOT}", rest)
        if hits:
            found[keyword] = hits
    ordered = tuple(keyword for keyword in keywords if keyword in found)
    return Detection(ordered, sum(found.values()), words)


def normalise(text: str) -> str:
    """Lower-case, with everything that is no letter or digit as one space."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", text.lower()).split())
