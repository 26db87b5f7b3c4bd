"""The traceability page says what the tests say: written by a run, it must not be older than they are."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from backstay_parts.traceability import find_points, load_points

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
WRITE_IT = (
    "write it by: pytest -m 'not prove' apps/watchpoint/tests --trace-points apps/watchpoint/docs/points.toml "
    "--trace-page apps/watchpoint/docs/traceability.md"
)


def test_the_page_has_every_point_with_the_tests_that_name_it() -> None:
    points = load_points(DOCS / "points.toml")
    page = (DOCS / "traceability.md").read_text(encoding="utf-8")
    shown = {
        found[1]: set(re.findall(r"`([^`]+)`", found[2]))
        for found in re.finditer(r"^\| (WPT-\d+) \| .* \| ([^|]*) \|$", page, flags=re.MULTILINE)
    }

    assert set(shown) == set(points)
    assert all(shown.values())
    assert shown == _named(points), WRITE_IT


def test_the_acceptance_page_names_tests_that_exist() -> None:
    page = (DOCS / "acceptance.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^(?:async )?def (test_\w+)", _all_source(), flags=re.MULTILINE))

    assert re.findall(r"^\| (A\d+) ", page, flags=re.MULTILINE) == [f"A{n}" for n in range(1, 21)]
    assert set(re.findall(r"\btest_\w+", page)) <= known


def _all_source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in TESTS.glob("test_*.py"))


def _named(points: dict[str, str]) -> dict[str, set[str]]:
    """Return which tests name which point, long proofs left out, read from their source."""
    named: dict[str, set[str]] = defaultdict(set)
    for path in TESTS.glob("test_*.py"):
        for function in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if any("mark.prove" in ast.unparse(decorator) for decorator in function.decorator_list):
                continue
            for point in find_points(ast.get_docstring(function), points):
                named[point].add(f"{path.name}::{function.name}")
    return dict(named)
