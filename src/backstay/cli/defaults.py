"""Groups of commands with a default: `backstay job ID` means `backstay job show ID`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

HELP = ("-h", "--help")


def with_default(word: str, *, nothing: str | None = None) -> type[TyperGroup]:
    """A group where a word that is no command is an argument of `word`, and no word at all means `nothing`.

    So `backstay job ID` is `backstay job show ID`, and `backstay dead` is `backstay dead list`.
    """

    class WithDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, [*_before(args, self.commands), *args])

    def _before(args: list[str], commands: Any) -> list[str]:
        if args and (args[0] in commands or args[0] in HELP):
            return []
        if args and not args[0].startswith("-"):
            return [word]
        return [nothing] if nothing else []

    return WithDefault
