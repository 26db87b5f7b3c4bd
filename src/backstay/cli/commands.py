"""Which commands there are; each one's module is read when the command is called."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from backstay.cli.options import AppOption, DebugOption, JsonOption, UrlOption
from backstay.cli.session import Shared
from backstay.settings.version import __version__

PANELS = {
    "Run": ("worker", "dev", "dashboard", "enqueue"),
    "Look": ("jobs", "job", "dead", "failures", "flows", "schedules", "locks", "top", "queues", "workers"),
    "Act": ("pause", "resume", "limits", "operations", "signal", "quotas", "overrides"),
    "Care": (
        "alerts",
        "archive",
        "audit",
        "keys",
        "webhooks",
        "doctor",
        "health",
        "metrics",
        "slo",
        "plan",
        "config",
        "db",
        "redis",
    ),
}
"""The commands as `--help` groups them; each is the name of the same spelling in the module of that name."""

PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}
MODULE_OF = {"pause": "queues", "resume": "queues"}
"""The commands that share a module with another one."""


class Commands(MutableMapping[str, Any]):
    """All commands by name; importing one's module waits until somebody asks for it."""

    def __init__(self) -> None:
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = _command(name, PANEL_OF[name])
        return self._read[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._read[name] = command

    def __delitem__(self, name: str) -> None:
        del self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PANEL_OF)

    def __len__(self) -> int:
        return len(PANEL_OF)


def _command(name: str, panel: str) -> Any:
    """Read the module of a command, and make the command as typer would have."""
    module = import_module(f"backstay.cli.{MODULE_OF.get(name, name)}")
    found = getattr(module, name)
    alone = typer.Typer()
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name, rich_help_panel=panel)
    else:
        alone.command(name, rich_help_panel=panel)(found)
    return typer.main.get_group(alone).commands[name]


class CommandLine(TyperGroup):
    """The group of all commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "commands": {}})
        self.commands = Commands()


backstay = typer.Typer(
    name="backstay",
    cls=CommandLine,
    help="Durable background jobs on SQLite or PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"backstay {__version__}")
        raise typer.Exit


@backstay.callback()
def _before_every_command(
    context: typer.Context,
    url: UrlOption = None,
    app: AppOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    context.obj = Shared(url=url, app=app, as_json=as_json, debug=debug)
