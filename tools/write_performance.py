"""Writes the tables and charts of docs/reference/performance.md from bench/out/report.json.

`python tools/write_performance.py` rewrites them; with `--check` it only tells whether they are current.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import page  # noqa: E402  # it is found beside this folder, not installed

REPORT = ROOT / "bench" / "out" / "report.json"
PAGE = ROOT / "docs" / "reference" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"
BEGIN = "<!-- written by tools/write_performance.py: begin -->"
END = "<!-- written by tools/write_performance.py: end -->"


def files() -> dict[Path, str]:
    """What the page and the pictures should hold."""
    made = json.loads(REPORT.read_text())
    pictures = {PICTURES / name: drawn for name, drawn in page.charts(made).items()}
    return {PAGE: rewritten(PAGE.read_text(), page.page(made)), **pictures}


def rewritten(text: str, tables: str) -> str:
    """The page with fresh tables between its markers."""
    before, found_begin, rest = text.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found_begin and found_end):
        raise SystemExit(f"{PAGE.name} needs the two lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"


def main() -> None:
    """Write, or check."""
    wanted = files()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in sorted(PICTURES.glob("performance-*.svg")) if path not in wanted]
    if "--check" in sys.argv[1:]:
        if stale:
            names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
            raise SystemExit(f"{names}: not as bench/out/report.json has it; run 'make fix'")
        return
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path])
        else:
            path.unlink()


if __name__ == "__main__":
    main()
