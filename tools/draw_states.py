"""Draws the states of a job into docs/explanation/states.md, from the table that the code itself obeys.

`python tools/draw_states.py` rewrites the part between the markers; with `--check` it only tells whether it is current.
"""

from __future__ import annotations

import sys
from pathlib import Path

from backstay.model.states import FINAL, TRANSITIONS, State

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "states.md"
BEGIN = "<!-- drawn by tools/draw_states.py: begin -->"
END = "<!-- drawn by tools/draw_states.py: end -->"


def drawing() -> str:
    """The picture and the table, as Markdown."""
    return f"{picture()}\n\n{table()}"


def picture() -> str:
    """A Mermaid diagram: one arrow for each pair of states, named by every verb that may cause it."""
    verbs: dict[tuple[State | None, State], list[str]] = {}
    for arrow in TRANSITIONS:
        verbs.setdefault((arrow.source, arrow.target), []).append(arrow.verb)
    lines = [
        f"    {source.value if source else '[*]'} --> {target.value}: {', '.join(named)}"
        for (source, target), named in verbs.items()
    ]
    ends = [f"    {state.value} --> [*]" for state in State if state in FINAL]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, *ends, "```"])


def table() -> str:
    """Every verb with the states it acts on, the states it leads to, and the file of its statement."""
    rows: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for arrow in TRANSITIONS:
        sources, targets = rows.setdefault((arrow.verb, arrow.sql), ([], []))
        _add(sources, arrow.source.value if arrow.source else "(new)")
        _add(targets, arrow.target.value)
    lines = [
        f"| {verb} | {', '.join(sources)} | {', '.join(targets)} | `{statement}.sql` |"
        for (verb, statement), (sources, targets) in rows.items()
    ]
    return "\n".join(["| verb | from | to | statement |", "| --- | --- | --- | --- |", *lines])


def redrawn(page: str) -> str:
    """The page with a fresh drawing between its markers."""
    before, found_begin, rest = page.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found_begin and found_end):
        raise SystemExit(f"{PAGE.name} needs the two lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{drawing()}\n\n{END}{after}"


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def main() -> int:
    page = PAGE.read_text()
    fresh = redrawn(page)
    if "--check" in sys.argv[1:]:
        if page != fresh:
            print(f"{PAGE.name} is out of date: run 'python tools/draw_states.py'")
        return int(page != fresh)
    PAGE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
