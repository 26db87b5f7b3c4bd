"""What all commands have in common: the application they act on, and how they fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any, TypeVar

from backstay.cli import printing
from backstay.cli.applications import application_on, load
from backstay.errors import BackstayError, StoreUnavailable

if TYPE_CHECKING:
    import asyncio

    from backstay.app import Backstay
    from backstay.settings.sources import Settings

T = TypeVar("T")


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

    def application(
        self, path: str | None = None, *, creates: bool = False, only_named: bool = False
    ) -> Backstay:
        """The application named, or one that only knows the database; `creates` lets a missing file be made.

        With `only_named` that must be a file that somebody has named.
        """
        path = path or self.app or self.settings().app
        if path is not None:
            return load(path, url=self.url)
        return application_on(self.url, creates=creates, only_named=only_named)

    def settings(self) -> Settings:
        """The settings of this place, before any application's own."""
        from backstay.settings.sources import read_settings

        return read_settings({}, os.environ, Path.cwd())

    def run(self, work: Callable[[Backstay], Awaitable[T]], *, app: Backstay | None = None) -> T:
        """Do the work on an event loop of its own, and close what it opened."""
        # Imported late, here and elsewhere, so that help and usage errors come at once.
        import asyncio

        from backstay.runtime.event_loop import fast_loop
        from backstay.runtime.source import come_from
        from backstay.settings.settings import hide_password

        chosen = app or self.application()

        async def closing() -> T:
            come_from(f"command line on {gethostname()}")
            try:
                return await work(chosen)
            except StoreUnavailable as error:
                error.add_note(f"The database is {hide_password(chosen.url)}")
                raise
            finally:
                await chosen.close()

        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            return _to_the_end(runner.get_loop(), closing())

    def show(self, document: object, view: Callable[[], None]) -> None:
        """Print the document as JSON where that was asked for, otherwise what `view` makes of it."""
        if self.as_json:
            printing.document(document)
        else:
            view()

    def tell(self, sentence: str, **facts: object) -> None:
        """Say in one line what was done."""
        self.show({"done": sentence, **facts}, lambda: printing.line(sentence))


def _to_the_end(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Do the work, also when a handler stops the loop that it shares with all the others."""
    import asyncio

    asyncio.set_event_loop(loop)
    task = loop.create_task(work)
    while True:
        try:
            return loop.run_until_complete(task)
        except RuntimeError:
            if task.done():
                raise


@contextmanager
def reporting(session: Session) -> Iterator[None]:
    """End the process with an error's message and exit code 1, without a traceback unless `--debug` asks for it."""
    try:
        yield
    except BrokenPipeError:
        # The reader of the output has closed it, as `head` does.
        sys.stderr.close()
        raise SystemExit(0) from None
    except (BackstayError, OSError) as error:
        if session.debug:
            raise
        if session.as_json:
            printing.document({"error": _described(error)})
        else:
            printing.problem(error)
        raise SystemExit(1) from None


def _described(error: Exception) -> dict[str, object]:
    places = {name: value for name in ("field", "pointer") if (value := getattr(error, name, ""))}
    return {"type": type(error).__name__, "message": str(error), "hints": printing.hints(error), **places}
