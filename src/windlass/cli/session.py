"""What all commands have in common: their shared options, the application they act on, and how they fail."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from windlass.cli import printing
from windlass.cli.applications import application_on, load
from windlass.errors import StoreUnavailable, WindlassError

if TYPE_CHECKING:
    from windlass.app import Windlass
    from windlass.configuration import Settings

T = TypeVar("T")

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Database; otherwise the application's own, then WINDLASS_URL, then sqlite:///windlass.db.",
    ),
]
AppOption = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:APP", envvar="WINDLASS_APP", help="Application to act on."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@dataclass(frozen=True)
class Shared:
    """The shared options as given before the command."""

    url: str | None = None
    app: str | None = None
    as_json: bool = False
    debug: bool = False


@dataclass(frozen=True)
class Session(Shared):
    """One run of one command."""

    def application(self, path: str | None = None, *, creates: bool = False) -> Windlass:
        """The application named, or one that only knows the database; `creates` lets a missing file be made."""
        path = path or self.app or self.settings().app
        if path is not None:
            return load(path, url=self.url)
        return application_on(self.url, creates=creates)

    def settings(self) -> Settings:
        """The settings of this place, before any application's own."""
        from windlass.configuration import read_settings

        return read_settings({}, os.environ, Path.cwd())

    def run(self, work: Callable[[Windlass], Awaitable[T]], *, app: Windlass | None = None) -> T:
        """Do the work on an event loop of its own, and close what it opened."""
        # Imported late, here and elsewhere, so that help and usage errors come at once.
        import asyncio

        from windlass.assembly import fast_loop
        from windlass.settings import hide_password

        chosen = app or self.application()

        async def closing() -> T:
            try:
                return await work(chosen)
            except StoreUnavailable as error:
                error.add_note(f"The database is {hide_password(chosen.url)}")
                raise
            finally:
                await chosen.close()

        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            return runner.run(closing())

    def show(self, document: object, view: Callable[[], None]) -> None:
        """Print the document as JSON where that was asked for, otherwise what `view` makes of it."""
        if self.as_json:
            printing.document(document)
        else:
            view()

    def tell(self, sentence: str, **facts: object) -> None:
        """Say in one line what was done."""
        self.show({"done": sentence, **facts}, lambda: printing.line(sentence))


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options: its first parameter becomes the Session made of them.

    An error of ours ends it with its message and exit code 1, without a traceback unless `--debug` asks for it.
    """
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
        with _reporting(session):
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


@contextmanager
def _reporting(session: Session) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` does.
        sys.stderr.close()
        raise typer.Exit(0) from None
    except (WindlassError, OSError) as error:
        if session.debug:
            raise
        if session.as_json:
            printing.document({"error": _described(error)})
        else:
            printing.problem(error)
        raise typer.Exit(1) from None


def _described(error: Exception) -> dict[str, object]:
    places = {name: value for name in ("field", "pointer") if (value := getattr(error, name, ""))}
    return {"type": type(error).__name__, "message": str(error), "hints": printing.hints(error), **places}
