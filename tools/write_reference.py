"""Writes the reference from code: settings, policy, events, errors, the command line, and the pages of the API.

`python tools/write_reference.py` rewrites the parts between the markers, and the pages in docs/reference/api as a
whole; with `--check` it only tells whether they are current. What stands around the markers is written by hand and
left alone.
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
from api.entries import escaped
from api.pages import written

import backstay as package
from backstay import errors, records
from backstay.cli.commands import backstay
from backstay.model.backoff import Backoff
from backstay.model.events import CATALOGUE
from backstay.model.policy.fields import ABOUT
from backstay.model.policy.policy import CHECKS, Policy
from backstay.settings.settings import Setting, catalogue, shown

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
WITHOUT_DOCSTRING = {
    "JobId": "The type of a job's id, a UUID.",
    "__version__": "Which release this is.",
}
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
        if isinstance(node, ast.ClassDef) and node.name != "BackstayError":
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


def first_day() -> str:
    """The names of `backstay` itself."""
    return table(("name", "what it is"), ((code(name), about(package, name)) for name in package.__all__))


def values() -> str:
    """The names of `backstay.records`."""
    names = [name for name in dir(records) if name[0].isupper()]
    return table(("name", "what it is"), ((code(name), about(records, name)) for name in names))


def about(module: Any, name: str) -> str:
    """The first sentences of what a name says of itself."""
    return WITHOUT_DOCSTRING.get(name) or first_line(getattr(module, name).__doc__)


def commands() -> str:
    """Every command with its options, as `--help` tells them."""
    rows = []
    for path, command in walk(typer.main.get_command(backstay), ()):
        rows.append((f"**`backstay {' '.join(path)}`**", first_line(command.help)))
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
    return escaped(text.replace("\n", " "))


def first_line(text: str | None) -> str:
    return plain(inspect.cleandoc(text or "").split("\n\n")[0])


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("settings.md", settings),
    "aliases": ("settings.md", aliases),
    "policy": ("policy.md", policy),
    "events": ("events.md", events),
    "error tree": ("errors.md", error_tree),
    "errors": ("errors.md", every_error),
    "first day": ("public.md", first_day),
    "records": ("public.md", values),
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


def api_pages(*, write: bool) -> list[str]:
    """The pages of the API that are not what the code says; written anew, or only told."""
    fresh = {REFERENCE / path: text for path, text in written().items()}
    gone = [page for page in (REFERENCE / "api").glob("*.md") if page not in fresh]
    stale = [page for page, text in fresh.items() if not page.exists() or page.read_text() != text]
    if write:
        for page in stale:
            page.parent.mkdir(exist_ok=True)
            page.write_text(fresh[page])
        for page in gone:
            page.unlink()
    return [str(page.relative_to(REFERENCE)) for page in [*stale, *gone]]


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
    stale += api_pages(write="--check" not in sys.argv[1:])
    if "--check" in sys.argv[1:] and stale:
        print(f"{', '.join(stale)} out of date: run 'python tools/write_reference.py'")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
