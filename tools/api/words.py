"""One line for each public field, from `fields.txt`; the policy's are those of its own page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from backstay.model.policy.fields import ABOUT

LIST = Path(__file__).with_name("fields.txt")
SAME_AS = {
    "Options": "JobOptions",
    "SyncHarness": "Harness",
    "PolicyFields": "Policy",
    "KindFields": "Policy",
}
"""The keyword form of a class has the fields of that class."""


@cache
def words() -> dict[str, str]:
    """Every line of the list by its name."""
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def word_for(owner: str, field: str) -> str:
    """What a field means; "" where nobody has said it."""
    for name in (owner, SAME_AS.get(owner, owner)):
        if f"{name}.{field}" in words():
            return words()[f"{name}.{field}"]
        if name in ("Policy", "JobOptions") and field in ABOUT:
            return ABOUT[field]
    return words().get(field, "")
