"""Words that leave a duty to judgement."""

from __future__ import annotations

import re

PHRASES = (
    "as appropriate",
    "where necessary",
    "where practicable",
    "reasonable measures",
    "adequate steps",
    "as soon as practicable",
    "to the satisfaction of",
    "unless otherwise agreed",
    "appropriate measures",
    "suitable provision",
    "best endeavours",
    "best practicable means",
    "so far as is reasonably practicable",
    "reasonable endeavours",
    "where appropriate",
    "if necessary",
    "sufficiently",
    "best available techniques",
)
PATTERNS = {
    phrase: re.compile(r"\b" + phrase.replace(" ", r"\s+(?:is\s+)?(?:reasonably\s+)?") + r"\b", re.IGNORECASE)
    for phrase in PHRASES
}


def phrases_in(text: str) -> list[str]:
    """Return the subjective phrases of a text, in the order of the list."""
    return [phrase for phrase, pattern in PATTERNS.items() if pattern.search(text)]
