"""How alike are two texts? Hashed words, weighted by how often they stand, of length one."""

import hashlib
import math
import re
from collections import Counter

DIMENSIONS = 256


def vector_of(text: str) -> list[float]:
    """The vector of a text; texts that share words point in similar directions."""
    counts = Counter(re.findall(r"[a-z][a-z\-]{2,}", text.lower()))
    vector = [0.0] * DIMENSIONS
    for word, count in counts.items():
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        place, sign = int.from_bytes(digest[:4], "big") % DIMENSIONS, 1.0 if digest[4] % 2 else -1.0
        vector[place] += sign * (1.0 + math.log(count))
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def likeness(one: list[float], other: list[float]) -> float:
    """The cosine of two vectors of length one."""
    return sum(a * b for a, b in zip(one, other, strict=True))
