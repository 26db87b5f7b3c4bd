"""Where does an optional library come from, and what to install when it is missing?"""

import importlib
from typing import Any


class MissingPart(RuntimeError):
    """A library or program that an optional part needs is not installed."""

    def __init__(self, missing: str, *, advice: str) -> None:
        super().__init__(f"{missing} is not installed; {advice}")
        self.missing, self.advice = missing, advice


def need(module: str, *, extra: str) -> Any:
    """Import a library of the named extra, or raise `MissingPart` with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not module.startswith(error.name):
            raise
        raise MissingPart(
            f"the library {module!r}", advice=f"run: pip install 'backstay-parts[{extra}]'"
        ) from error
