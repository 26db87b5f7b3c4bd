"""What does the traceability page say?"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_POINT = re.compile(r"\b[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+\b|\b[A-Z]\d{1,3}\b")


@dataclass(frozen=True, slots=True)
class Shown:
    """A requirement that a passing test shows."""

    point: str
    test: str


def load_points(path: Path) -> dict[str, str]:
    """Read the requirements of an application: a TOML table `[points]` of id = "one line"."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    points = table.get("points")
    if not isinstance(points, dict) or not all(isinstance(line, str) and line for line in points.values()):
        raise ValueError(
            f'{path}: expected a table [points] with lines of the form  ABC-001 = "what must hold"'
        )
    return dict(points)


def find_points(docstring: str | None, known: Iterable[str]) -> list[str]:
    """The known ids that a test's docstring names, in order, each once.

    Raises `ValueError` for an id of the same family that is not known: a typing error would show nothing.
    """
    names = set(known)
    families = {name.rsplit("-", 1)[0] for name in names if "-" in name}
    found: dict[str, None] = {}
    for word in _POINT.findall(docstring or ""):
        if word in names:
            found[word] = None
        elif "-" in word and word.rsplit("-", 1)[0] in families:
            raise ValueError(f"a test names {word}, which is not a known requirement")
    return list(found)


def render(title: str, points: Mapping[str, str], shown: Iterable[Shown]) -> str:
    """The page in Markdown: each requirement, its line, and the tests that passed."""
    tests: dict[str, set[str]] = {point: set() for point in points}
    for entry in shown:
        tests[entry.point].add(entry.test)
    held = sum(1 for names in tests.values() if names)
    lines = [
        f"# {title}",
        "",
        "Written from a passing run of the tests; a requirement without a test is not shown.",
        "",
        f"Shown: {held} of {len(points)}.",
        "",
        "| id | what must hold | tests that passed |",
        "| --- | --- | --- |",
    ]
    for point, line in points.items():
        names = "<br>".join(f"`{name}`" for name in sorted(tests[point])) or "**none**"
        lines.append(f"| {point} | {line.replace('|', chr(92) + '|')} | {names} |")
    return "\n".join(lines) + "\n"
