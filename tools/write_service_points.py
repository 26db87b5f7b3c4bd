"""Writes docs/reference/service-points.md from tools/service_points.toml: what the service must show, and where.

`python tools/write_service_points.py` writes the page; with `--check` it only tells whether page and points hold. A
point needs tests that exist, as `file::name` or a whole file, or a sentence on what serves until it is built.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from write_mended import is_test

ROOT = Path(__file__).resolve().parents[1]
POINTS = ROOT / "tools" / "service_points.toml"
PAGE = ROOT / "docs" / "reference" / "service-points.md"

HEAD = """# What the service shows

Each point of the service with the tests that show it, or what serves until it is built.

<!-- written by tools/write_service_points.py from tools/service_points.toml -->

| point | what holds | shown by |
| --- | --- | --- |
"""


def main() -> int:
    """Write the page, or compare it."""
    points = tomllib.loads(POINTS.read_text("utf-8"))["point"]
    wrong = list(problems(points))
    text = HEAD + "".join(f"{row(point)}\n" for point in points)
    if "--check" in sys.argv and (not PAGE.exists() or PAGE.read_text("utf-8") != text):
        wrong.append(f"{PAGE.relative_to(ROOT)} is out of date: run 'make fix'")
    elif "--check" not in sys.argv and not wrong:
        PAGE.write_text(text, "utf-8")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


def problems(points: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What does not hold about the points."""
    names = [point["id"] for point in points]
    if names != sorted(set(names)):
        yield "the points are not each there once, in order"
    for point in points:
        if not (point.get("tests") or point.get("later")):
            yield f"{point['id']}: neither a test nor what serves until then"
        for test in point.get("tests", ()):
            if not (is_test(test) if "::" in test else (ROOT / test).is_file()):
                yield f"{point['id']}: no test {test}"


def row(point: Mapping[str, Any]) -> str:
    """One line of the table."""
    tests = [f"`{test.rpartition('::')[2].rpartition('/')[2]}`" for test in point.get("tests", ())]
    return f"| {point['id']} | {point['line']} | {' '.join([*tests, point.get('later', '')]).strip()} |"


if __name__ == "__main__":
    sys.exit(main())
