"""Writes docs/reference/capabilities.md from tools/capabilities.toml: what Backstay can do, and what shows it.

`python tools/write_capabilities.py` writes the page; with `--check` it only tells whether page and rows hold. A
capability has a guide, a place in the reference and an example that the tests run; a promise, word for word as
docs/explanation/promise.md has it, has tests that exist. A guide or an example that no capability names, or a promise
without its tests, fails the check.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from write_mended import is_test

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "tools" / "capabilities.toml"
PAGE = ROOT / "docs" / "reference" / "capabilities.md"
DOCS = ROOT / "docs"
PROMISES = DOCS / "explanation" / "promise.md"
EXAMPLES = DOCS / "examples"

NO_CAPABILITY = {"tutorial", "demo", "kit_templates", "own_tables", "web_tests"}
"""Folders that belong to an example beside them, or that a page of their own shows."""

HEAD = """# What Backstay can do

Each capability with its guide, its place in the reference and an example that runs in the tests.
Then every promise with the tests that show it.

<!-- written by tools/write_capabilities.py from tools/capabilities.toml -->
"""

Row = Mapping[str, Any]


def problems(rows: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """What does not hold about the rows."""
    capabilities = rows["capability"]
    for row in capabilities:
        if odd := row.keys() ^ {"name", "guide", "reference", "example"}:
            yield f"{row.get('name', 'a row')}: {', '.join(sorted(odd))} is missing or unknown"
            continue
        for part, folder in (("guide", DOCS), ("reference", DOCS), ("example", EXAMPLES)):
            if not (folder / row[part]).exists():
                yield f"{row['name']}: there is no {part} {row[part]}"
    yield from _not_named("guides", _guides(), {row.get("guide") for row in capabilities})
    yield from _not_named("examples", _examples(), {row.get("example") for row in capabilities})
    yield from _promises(rows["promise"])


def _guides() -> set[str]:
    return {f"guides/{path.name}" for path in (DOCS / "guides").glob("*.md")}


def _examples() -> set[str]:
    return (
        {path.name for path in EXAMPLES.iterdir() if path.suffix in ("", ".py")}
        - NO_CAPABILITY
        - {"__pycache__"}
    )


def _not_named(sort: str, there: set[str], named: set[Any]) -> Iterator[str]:
    if left := sorted(there - named):
        yield f"no capability names these {sort}: {', '.join(left)}"


def promised() -> list[str]:
    """The promises of the page, in its words."""
    text, _, _ = PROMISES.read_text("utf-8").partition("## Not promised")
    return [promise.rstrip(".") for promise in re.findall(r"^\*\*(.+?)\*\*", text, flags=re.MULTILINE)]


def _promises(rows: Sequence[Row]) -> Iterator[str]:
    if [row["sentence"] for row in rows] != promised():
        yield f"the promises are not those of {PROMISES.relative_to(ROOT)}: {promised()}"
    for row in rows:
        if not row.get("tests"):
            yield f"{row['sentence']}: no test shows it"
        yield from (
            f"{row['sentence']}: no test {test}" for test in row.get("tests", ()) if not is_test(test)
        )


def page(rows: Mapping[str, Sequence[Row]]) -> str:
    """The page, as Markdown."""
    capabilities = [
        f"| {row['name']} | [guide](../{row['guide']}) | [reference](../{row['reference']}) | "
        f"[{row['example']}](../examples/{row['example']}) |"
        for row in rows["capability"]
    ]
    promises = [
        f"| {row['sentence']} | {'<br>'.join(f'`{test}`' for test in row['tests'])} |"
        for row in rows["promise"]
    ]
    return "\n".join(
        [
            HEAD,
            "## Capabilities\n",
            "| what | guide | reference | example |\n| --- | --- | --- | --- |",
            *capabilities,
            "\n## Promises\n",
            "What each means stands in [What is promised, and what is not](../explanation/promise.md).\n",
            "| promise | shown by |\n| --- | --- |",
            *promises,
            "",
        ]
    )


def main(arguments: Sequence[str]) -> int:
    """Write the page, or check it; returns the exit code."""
    rows = tomllib.loads(ROWS.read_text("utf-8"))
    found = list(problems(rows))
    is_current = PAGE.exists() and not found and PAGE.read_text("utf-8") == page(rows)
    if arguments == ["--check"] and not found and not is_current:
        found = [f"{PAGE.relative_to(ROOT)} is not current: run 'python tools/write_capabilities.py'"]
    for one in found:
        sys.stderr.write(f"{one}\n")
    if not found and not arguments:
        PAGE.write_text(page(rows), "utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
