"""The pages that lead through the source name files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "backstay"
PLACES = [
    ROOT,
    SOURCE,
    SOURCE / "stores",
    SOURCE / "stores" / "database",
    ROOT / "tests" / "chaos",
    ROOT / "tests" / "simulation",
]
STATEMENTS = [
    SOURCE / "stores" / "sql" / database / noun
    for database in ("shared", "postgres", "sqlite")
    for noun in ("", "jobs", "dead_letters", "limits", "flows", "schedules")
]
PATH = re.compile(r"`([\w./*<>-]*(?:/|\.py|\.sql|\.toml|\.md)[\w./*<>-]*)`")


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_the_page_names_is_there(page: str) -> None:
    named = set(PATH.findall((ROOT / page).read_text()))

    assert named
    assert sorted(name for name in named if not is_there(name)) == []


def is_there(name: str) -> bool:
    pattern = re.sub(r"<\w+>", "*", name.rstrip("/"))
    return any(any(place.glob(pattern)) for place in [*PLACES, *STATEMENTS] if place.is_dir())
