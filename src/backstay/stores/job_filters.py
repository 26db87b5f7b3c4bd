"""The values of a search for jobs."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from backstay.model.records import JobFilter
from backstay.model.state_match import StateMatch

_ANYTHING = re.compile(r"[%_!]")


def search_values(filters: JobFilter, match: StateMatch | None) -> dict[str, Any]:
    """What a search statement takes; with a match the filter's own state does not count."""
    told = {name: list(value) for name, value in asdict(match or StateMatch()).items()}
    state = None if match is not None else filters.state
    text = None if filters.text is None else "%" + _ANYTHING.sub(r"!\g<0>", filters.text.lower()) + "%"
    return {**asdict(filters), **told, "state": state, "any_state": match is None, "text": text}
