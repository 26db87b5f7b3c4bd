"""Rule packages that come with the application: how a battery passport is made of the usual documents."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class RuleSources:
    """The text of a rule package and of its tests."""

    rules: str
    tests: str


def battery_passport() -> RuleSources:
    """Return the package that fills all seven submodels."""
    folder = files(__name__)
    return RuleSources(
        rules=(folder / "battery_passport.rules").read_text(encoding="utf-8"),
        tests=(folder / "battery_passport.tests").read_text(encoding="utf-8"),
    )
