"""Writes docs/reference/found-and-mended.md from tools/found_and_mended.toml: what was found, and what shows it mended.

`python tools/write_mended.py` writes the page; with `--check` it only tells whether page and rows hold. A row needs a
test that exists, a decision that exists, or a sentence on what serves until it is built; otherwise the check fails.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "tools" / "found_and_mended.toml"
PAGE = ROOT / "docs" / "reference" / "found-and-mended.md"
DECISIONS = ROOT / "docs" / "adr"

GROUPS = {
    "attack": (9, "Found by attack", "by people who tried to break a running system from outside"),
    "audit": (13, "Found by audit", "by reading every promise and looking for what shows it"),
    "gap": (21, "Found by two applications", "by building a medical application and a team's job service"),
    "passport": (9, "Found by battery passports", "by building them"),
    "watchpoint": (8, "Found by a weather platform", "by building its maintenance"),
    "oblicore": (13, "Found by environmental permits", "by building their application"),
    "need": (25, "What applications need", "the sum of all of these, part by part"),
    "newcomer": (16, "Found on a newcomer's day", "by trying the package as somebody who had never seen it"),
    "people": (
        19,
        "What people need",
        "what deploys, erasure, reading and a first day ask for, part by part",
    ),
}
"""Each group with how many rows it has, its heading, and how its rows were found."""

IN_SHORT = ("need", "people")

HEAD = """# Found and mended

What attacks, an audit and the first applications found missing or wrong, and the test that shows that it is mended.
A row without a test says which decision stands against it, or what serves until it is built.

<!-- written by tools/write_mended.py from tools/found_and_mended.toml -->
"""


def problems(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What does not hold about the rows."""
    names = [row["name"] for row in rows]
    expected = [
        f"{group}-{number}" for group, (count, *_) in GROUPS.items() for number in range(1, count + 1)
    ]
    if names != expected:
        odd = sorted(set(names) ^ set(expected)) or "their order"
        yield f"the rows are not those that there should be: {odd}"
    for row in rows:
        if unknown := row.keys() - {"name", "what", "tests", "adr", "later"}:
            yield f"{row['name']}: what is {', '.join(sorted(unknown))}?"
        if not (row.get("tests") or row.get("adr") or row.get("later")):
            yield f"{row['name']}: neither a test, nor a decision, nor what serves until then"
        yield from (f"{row['name']}: no test {test}" for test in row.get("tests", ()) if not is_test(test))
        if "adr" in row and not list(DECISIONS.glob(f"{row['adr']}-*.md")):
            yield f"{row['name']}: no decision {row['adr']}"


def is_test(name: str) -> bool:
    """Whether a file of ours has this test."""
    file, _, function = name.partition("::")
    return function.startswith("test_") and function in tests_of(ROOT / file)


@cache
def tests_of(path: Path) -> frozenset[str]:
    """The tests of a file; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    return frozenset(node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The page, as Markdown."""
    parts = [HEAD]
    for group, (_, heading, how) in GROUPS.items():
        lines = [_line(row) for row in rows if row["name"].rpartition("-")[0] == group]
        parts.append(
            f"## {heading}\n\nFound {how}.\n"
            if group not in IN_SHORT
            else f"## {heading}\n\nIn short, {how}.\n"
        )
        parts.append("| | what | shown by |\n| --- | --- | --- |\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(row: Mapping[str, Any]) -> str:
    shown = [f"`{test}`" for test in row.get("tests", ())]
    if "adr" in row:
        [decision] = DECISIONS.glob(f"{row['adr']}-*.md")
        shown.append(f"[decision {row['adr']}](../adr/{decision.name})")
    if "later" in row:
        shown.append(f"*later: {row['later']}*")
    return f"| {row['name'].rpartition('-')[2]} | {row['what']} | {'<br>'.join(shown)} |"


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it; returns the exit code."""
    rows = tomllib.loads(ROWS.read_text("utf-8"))["row"]
    found = list(problems(rows))
    if (
        not found
        and arguments == ["--check"]
        and (not PAGE.exists() or PAGE.read_text("utf-8") != page(rows))
    ):
        found = [f"{PAGE.relative_to(ROOT)} is not current: run 'python tools/write_mended.py'"]
    for one in found:
        sys.stderr.write(f"{one}\n")
    if not found and not arguments:
        PAGE.write_text(page(rows), "utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
