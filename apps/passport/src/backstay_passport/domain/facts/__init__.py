"""Facts: what documents say, each with its canonical bytes and their hash."""

from backstay_passport.domain.facts.fact import Fact, make_fact
from backstay_passport.domain.facts.reading import DocumentKind, read_facts

__all__ = ["DocumentKind", "Fact", "make_fact", "read_facts"]
