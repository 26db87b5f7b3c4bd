"""Copies code from docs/examples into the pages that show it, so that no page shows code that does not run.

A block that opens with ```python title="docs/examples/enqueue.py" shows the whole file; with
title="docs/examples/enqueue.py#keys" it shows the function or class `keys` of that file.
`python tools/copy_examples.py` rewrites the blocks; with `--check` it only tells which are out of date.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r'^(```python title="(?P<title>[^"]+)"\n)(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)


def refreshed(page: str) -> str:
    """The page with every titled block as its file has it now."""
    return BLOCK.sub(lambda block: f"{block[1]}{code_for(block['title'])}```", page)


def code_for(title: str) -> str:
    """The code that a title stands for."""
    name, _, part = title.partition("#")
    text = (ROOT / name).read_text()
    return extract(text, part, name) if part else text


def extract(text: str, part: str, name: str) -> str:
    """One function or class of a file, with its decorators."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == part:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    raise SystemExit(f"{name} has no function or class named {part!r}")


def main() -> int:
    stale = [page for page in PAGES if page.exists() and refreshed(page.read_text()) != page.read_text()]
    for page in stale:
        if "--check" in sys.argv[1:]:
            print(f"{page.relative_to(ROOT)} is out of date: run 'python tools/copy_examples.py'")
        else:
            page.write_text(refreshed(page.read_text()))
    return int(bool(stale) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
