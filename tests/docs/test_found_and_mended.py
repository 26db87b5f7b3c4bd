"""The page of what was found and mended stands on tests that exist."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import write_mended  # noqa: E402  # a tool, found by its folder

ROWS: list[dict[str, Any]] = tomllib.loads(write_mended.ROWS.read_text("utf-8"))["row"]


def test_every_row_has_what_shows_it_and_the_page_is_current() -> None:
    assert list(write_mended.problems(ROWS)) == []
    assert write_mended.PAGE.read_text("utf-8") == write_mended.page(ROWS)


def changed(**fields: Any) -> list[str]:
    """What is said of the rows when the first of them is otherwise."""
    first = {"name": ROWS[0]["name"], "what": ROWS[0]["what"], **fields}
    return list(write_mended.problems([first, *ROWS[1:]]))


def test_a_row_without_anything_or_with_what_does_not_exist_is_refused() -> None:
    assert changed() == ["attack-1: neither a test, nor a decision, nor what serves until then"]
    gone = "tests/docs/test_found_and_mended.py::test_gone"
    assert changed(tests=[gone]) == [f"attack-1: no test {gone}"]
    assert changed(tests=["tests/nowhere.py::test_x"]) == ["attack-1: no test tests/nowhere.py::test_x"]
    assert changed(adr="9999") == ["attack-1: no decision 9999"]
    assert changed(later="soon", test="x") == ["attack-1: what is test?"]


def test_a_row_that_is_missing_is_noticed() -> None:
    assert list(write_mended.problems(ROWS[1:])) == [
        "the rows are not those that there should be: ['attack-1']"
    ]
