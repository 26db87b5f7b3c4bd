"""The page of the command line names every command, option and finding."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from backstay.cli.commands import backstay
from backstay.client.doctor import database_findings, diagnosis, schedule_findings


def test_every_command_option_and_finding_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text()
    sources = "".join(map(inspect.getsource, (diagnosis, database_findings, schedule_findings)))
    found = {line for line in sources.splitlines() if 'code="' in line}
    codes = {line.split('"')[1] for line in found}
    missing = [
        f"backstay {' '.join(path)}" for path, _ in commands() if f"backstay {' '.join(path)}" not in page
    ]
    missing += [
        f"{path} {option}" for path, options in commands() for option in options if f"{option}" not in page
    ]

    assert missing == []
    assert [code for code in sorted(codes) if f"| `{code}` |" not in page] == []
    assert len(codes) > 10


def commands() -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Every command with its options, as typer will offer them."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*path, name))
        if not hasattr(command, "commands"):
            yield path, [option for each in command.params for option in each.opts if option.startswith("--")]

    yield from walk(typer.main.get_command(backstay), ())
