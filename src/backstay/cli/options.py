"""The options that all commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from backstay.cli.session import Session, Shared, reporting

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Database; otherwise the application's own, then BACKSTAY_URL, then sqlite:///backstay.db.",
    ),
]
AppOption = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:APP", envvar="BACKSTAY_APP", help="Application to act on."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options: its first parameter becomes the Session made of them."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    shared = inspect.signature(_shared, eval_str=True).parameters
    # A command that takes the application as its argument has no option for it.
    added = [
        parameter for name, parameter in shared.items() if name != "app" or "application" not in _names(own)
    ]

    @functools.wraps(function)
    def run(**given: Any) -> None:
        context: typer.Context = given.pop("context")
        before: Shared = context.obj or Shared()
        session = Session(
            url=given.pop("url") or before.url,
            app=given.pop("app", None) or before.app,
            as_json=given.pop("as_json") or before.as_json,
            debug=given.pop("debug") or before.debug,
        )
        with reporting(session):
            function(session, **given)

    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own, *added)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # read by inspect and typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _shared(
    context: typer.Context,
    app: AppOption = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """The parameters that every command gets."""


def _names(parameters: list[inspect.Parameter]) -> set[str]:
    return {parameter.name for parameter in parameters}
