"""Finds the application that a command is about."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import unquote

from backstay.errors import InvalidSettings

if TYPE_CHECKING:
    from backstay.app import Backstay


def load(path: str, *, url: str | None = None) -> Backstay:
    """The application at `module:name`, on another database where a URL is given; raises InvalidSettings."""
    from backstay.app import Backstay

    module_name, _, name = path.partition(":")
    if module_name.endswith(".py") or "/" in module_name:
        dotted = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise InvalidSettings(f"{path!r} is a file: name the module, as in {dotted}:{name or 'app'}")
    module = _import(module_name, path)
    found: object = _only_application(module) if not name else module
    for part in name.split(".") if name else ():
        if not hasattr(found, part):
            raise InvalidSettings(f"module {module_name!r} has no {name!r}{_offer(module)}")
        found = getattr(found, part)
    if not isinstance(found, Backstay):
        raise InvalidSettings(f"{path} is no Backstay but of type {type(found).__name__}{_offer(module)}")
    if url is not None:
        found.url = url
    return found


def application_on(url: str | None, *, creates: bool, only_named: bool = False) -> Backstay:
    """An application without handlers; raises InvalidSettings where the file is missing, unless it `creates` one.

    With `only_named` it creates none that nobody has named.
    """
    from backstay.app import Backstay

    app = Backstay(url)
    missing = _missing_file(app.url)
    is_unnamed = only_named and app.settings.chosen["url"].source == "default"
    if missing and (not creates or is_unnamed):
        raise InvalidSettings(
            f"there is no database {missing}: name one with --url or BACKSTAY_URL, "
            f"an application with --app, or make this one with 'backstay --url {app.url} db migrate'"
        )
    return app


def _import(module_name: str, path: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise InvalidSettings(
                f"cannot find the module {error.name!r} of {path!r}: looked in {here} "
                f"and where Python's packages are{_similar(module_name)}"
            ) from error
        raise InvalidSettings(
            f"cannot import {module_name!r}: it needs {error.name!r}, which is not installed in {sys.prefix}"
        ) from error
    except SyntaxError as error:
        raise InvalidSettings(
            f"cannot import {module_name!r}: {error.msg} ({error.filename}, line {error.lineno})"
        ) from error


def _similar(module_name: str) -> str:
    import difflib

    names = [
        entry.stem
        for entry in Path.cwd().iterdir()
        if entry.suffix == ".py" or (entry / "__init__.py").is_file()
    ]
    near = difflib.get_close_matches(module_name.split(".")[0], names, n=2)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _only_application(module: ModuleType) -> object:
    names = _applications(module)
    if len(names) != 1:
        raise InvalidSettings(
            f"say which application of module {module.__name__!r} is meant, as in {module.__name__}:app{_offer(module)}"
        )
    return getattr(module, names[0])


def _offer(module: ModuleType) -> str:
    names = _applications(module)
    if not names:
        return f"; module {module.__name__!r} ({module.__file__}) makes no Backstay"
    return f"; it has {' and '.join(f'{module.__name__}:{name}' for name in names)}"


def _applications(module: ModuleType) -> list[str]:
    from backstay.app import Backstay

    return [name for name, value in vars(module).items() if isinstance(value, Backstay)]


def _missing_file(url: str) -> str | None:
    scheme, _, rest = url.partition("://")
    if scheme != "sqlite" or rest.endswith(":memory:"):
        return None
    path = Path(unquote(rest[1:])).absolute()
    return None if path.exists() else str(path)
