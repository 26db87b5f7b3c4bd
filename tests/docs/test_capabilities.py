"""Every capability is shown, every promise has its tests, and the page of both is current."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import write_capabilities  # noqa: E402  # a tool, found by its folder

ROWS: dict[str, list[dict[str, Any]]] = tomllib.loads(write_capabilities.ROWS.read_text("utf-8"))


def test_every_row_holds_and_the_page_is_current() -> None:
    assert list(write_capabilities.problems(ROWS)) == []
    assert write_capabilities.PAGE.read_text("utf-8") == write_capabilities.page(ROWS)


def without_first(part: str) -> list[str]:
    """What is said when the first row of a part is gone."""
    return list(write_capabilities.problems({**ROWS, part: ROWS[part][1:]}))


def test_an_example_that_no_capability_names_is_noticed() -> None:
    assert without_first("capability") == ["no capability names these examples: first.py"]


def test_a_promise_that_is_not_listed_is_noticed() -> None:
    [said] = without_first("promise")
    assert said.startswith("the promises are not those of docs/explanation/promise.md")


def test_what_does_not_exist_is_named() -> None:
    first = {**ROWS["capability"][0], "guide": "guides/gone.md"}
    promise = {**ROWS["promise"][0], "tests": ["tests/nowhere.py::test_x"]}
    changed = {"capability": [first, *ROWS["capability"][1:]], "promise": [promise, *ROWS["promise"][1:]]}

    assert list(write_capabilities.problems(changed)) == [
        f"{first['name']}: there is no guide guides/gone.md",
        f"{promise['sentence']}: no test tests/nowhere.py::test_x",
    ]
