"""Writes the tables of the reference from code: settings, policy, events, errors and the command line.

`python tools/write_reference.py` rewrites the parts between the markers; with `--check` it only tells whether they
are current. What stands around the markers is written by hand and left alone.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from windlass import errors
from windlass.backoff import Backoff
from windlass.cli.commands import windlass
from windlass.events import CATALOGUE
from windlass.policy import CHECKS, Policy
from windlass.policy_fields import ABOUT
from windlass.settings import Setting, catalogue, shown

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
EVERYWHERE = {"--app", "--url", "--json", "--debug", "--help"}


def settings() -> str:
    """Every setting with its variable, default, range and meaning."""
    return table(
        ("setting", "variable", "default", "allowed", "meaning"),
        (
            (
                code(one.name),
                code(one.variable),
                (f"{one.follows}: " if one.follows else "") + shown(one.name, one.default),
                plain(one.allowed),
                one.about,
            )
            for one in catalogue().values()
        ),
    )


def aliases() -> str:
    """Every other name that a setting has in the environment."""
    return table(
        ("variable", "setting", "read as", "read"),
        (
            (
                code(alias.name),
                code(one.name),
                meaning(one, alias.meant),
                "with `aliases = all`" if alias.general else "always",
            )
            for one in catalogue().values()
            for alias in one.aliases
        ),
    )


def meaning(setting: Setting, meant: Callable[[str], str]) -> str:
    """How the text of an alias is turned into the setting's own."""
    sample = "postgresql://…" if setting.name == "url" else "3"
    return "as it stands" if meant(sample) == sample else f"`{sample}` means `{meant(sample)}`"


def policy() -> str:
    """Every field of a policy."""
    usual = Policy()
    return table(
        ("field", "default", "allowed", "meaning"),
        (
            (
                code(field.name),
                default_of(field.name, getattr(usual, field.name)),
                allowed(field.name),
                ABOUT[field.name],
            )
            for field in fields(Policy)
        ),
    )


def default_of(name: str, value: object) -> str:
    if name == "classes":
        return "see below"
    if isinstance(value, Backoff):
        return '`Backoff("2s")`'
    return shown(name, value)


def allowed(name: str) -> str:
    try:
        CHECKS[name](name, object())
    except errors.InvalidPolicy as refused:
        return plain(refused.needs)
    raise AssertionError(f"{name} takes anything")


def events() -> str:
    """Every event of the catalogue."""
    return table(
        ("event", "level", "meaning"),
        ((code(name), level.name.lower(), text) for name, (level, text) in CATALOGUE.items()),
    )


def error_tree() -> str:
    """The tree as it is drawn above the errors themselves."""
    drawn = (errors.__doc__ or "").partition("\n\n")[2]
    return f"```text\n{drawn.strip()}\n```"


def every_error() -> str:
    """Every error with what it is, its docstring and its attributes."""
    source = ast.parse(Path(errors.__file__).read_text())
    rows = []
    for node in source.body:
        if isinstance(node, ast.ClassDef) and node.name != "WindlassError":
            kind = getattr(errors, node.name)
            attributes = sorted(set(re.findall(r"self\.(\w+)", ast.unparse(node))) - {"add_note"})
            rows.append(
                (
                    code(node.name),
                    code(kind.__mro__[1].__name__),
                    first_line(kind.__doc__),
                    ", ".join(map(code, attributes)),
                )
            )
    return table(("error", "is a", "meaning", "attributes"), rows)


def commands() -> str:
    """Every command with its options, as `--help` tells them."""
    rows = []
    for path, command in walk(typer.main.get_command(windlass), ()):
        rows.append((f"**`windlass {' '.join(path)}`**", first_line(command.help)))
        for parameter in command.params:
            names = [name for name in parameter.opts if name.startswith("--")]
            if names and not EVERYWHERE & set(names):
                rows.append((code(names[0]), plain(getattr(parameter, "help", None) or "")))
    return table(("command or option", "meaning"), rows)


def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    for name, each in (inner or {}).items():
        yield from walk(each, (*path, name))


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(headings)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`"


def plain(text: str) -> str:
    return text.replace("\n", " ").replace("*", "\\*")


def first_line(text: str | None) -> str:
    return plain(inspect.cleandoc(text or "").split("\n\n")[0])


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("settings.md", settings),
    "aliases": ("settings.md", aliases),
    "policy": ("policy.md", policy),
    "events": ("events.md", events),
    "error tree": ("errors.md", error_tree),
    "errors": ("errors.md", every_error),
    "commands": ("command-line.md", commands),
}


def rewritten(page: str, part: str, text: str) -> str:
    """The page with a fresh part between its markers."""
    begin, end = (
        f"<!-- {part}, written by tools/write_reference.py: {edge} -->" for edge in ("begin", "end")
    )
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise SystemExit(f"the page needs the two lines {begin!r} and {end!r}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def main() -> int:
    """Write the pages, or compare them."""
    stale = []
    for name in sorted({page for page, _ in PARTS.values()}):
        page = REFERENCE / name
        fresh = page.read_text()
        for part, (where, write) in PARTS.items():
            if where == name:
                fresh = rewritten(fresh, part, write())
        if page.read_text() != fresh:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                page.write_text(fresh)
    if "--check" in sys.argv[1:] and stale:
        print(f"{', '.join(stale)} out of date: run 'python tools/write_reference.py'")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
