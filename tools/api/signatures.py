"""A function's or a class's signature as people read it, taken from its source."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import timedelta
from enum import Enum
from itertools import pairwise
from typing import Any, get_overloads

LINE = 100
MOST_OVERLOADS = 3
PLAIN_TYPES = {
    "Acting.actor": "str",
    "Acting.tenant": "str",
    "Acting.rights": "frozenset[str]",
    "Backstay.url": "str",
    "LeaseUncertain.job_ids": "tuple[object, ...]",
    "LinkAccess.token": "str",
    "Retry.after": "timedelta | None",
    "Snooze.delay": "timedelta",
    "Standalone.address": "str",
    "Worker.id": "str",
    "Worker.started": "threading.Event",
    "Worker.take_tally": "Callable[[], list[Tallied]]",
}
"""Types of attributes that come from something else than a parameter."""
AWAITABLE = re.compile(r"(?:Coroutine\[Any, Any, |Awaitable\[)(.*)\]$")


@dataclass(frozen=True, slots=True)
class Field:
    """A field or an attribute: its type, and its default where there is one."""

    name: str
    type: str
    default: str = ""
    about: str = ""


def of_function(function: Any, name: str) -> str:
    """Every way to call it, a line each, as a stub would write them."""
    function = inspect.unwrap(function) if not _is_context_manager(function) else function
    overloads = get_overloads(function)
    if len(overloads) > MOST_OVERLOADS:
        # The short forms for a decorator without parentheses say nothing that the long one does not.
        overloads = overloads[-1:]
    return "\n".join(_one(each, name) for each in overloads or [function])


def _one(function: Any, name: str) -> str:
    inner = getattr(function, "__wrapped__", function)
    node = _node(inner)
    arguments = _without_self(node.args)
    defaults = {id(default): _default(default, inner.__globals__) for default in _defaults(arguments)}
    returned = tidy(ast.unparse(node.returns)) if node.returns is not None else ""
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    if awaited := AWAITABLE.fullmatch(returned):
        prefix, returned = "async def", awaited[1]
    if _is_context_manager(function):
        prefix, returned = f"{prefix.removesuffix('def')}with".strip(), AWAITABLE.sub(r"\1", returned)
        returned = re.sub(r"^(?:Async)?Iterator\[(.*)\]$", r"\1", returned)
        return _laid_out(
            f"{prefix} {name}",
            _parameters(arguments, defaults),
            f" as {returned}" if returned != "None" else "",
        )
    return _laid_out(
        f"{prefix} {name}", _parameters(arguments, defaults), f" -> {returned}" if returned else ""
    )


def _is_context_manager(function: Any) -> bool:
    return getattr(getattr(function, "__code__", None), "co_filename", "").endswith("contextlib.py")


def _laid_out(head: str, parameters: list[str], tail: str) -> str:
    line = f"{head}({', '.join(parameters)}){tail}"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{head}(", *(f"    {parameter}," for parameter in parameters), f"){tail}"])


def _parameters(arguments: ast.arguments, defaults: dict[int, str]) -> list[str]:
    found: list[str] = []
    places = [*arguments.posonlyargs, *arguments.args]
    given: list[ast.expr | None] = [
        *([None] * (len(places) - len(arguments.defaults))),
        *arguments.defaults,
    ]
    for index, (place, default) in enumerate(zip(places, given, strict=True)):
        found.append(_parameter(place, default, defaults))
        if index + 1 == len(arguments.posonlyargs):
            found.append("/")
    if arguments.vararg is not None:
        found.append("*" + _parameter(arguments.vararg, None, defaults))
    elif arguments.kwonlyargs:
        found.append("*")
    for place, keyword in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(place, keyword, defaults))
    if arguments.kwarg is not None:
        found.append("**" + _parameter(arguments.kwarg, None, defaults))
    return found


def _parameter(place: ast.arg, default: ast.expr | None, defaults: dict[int, str]) -> str:
    text = place.arg + (f": {tidy(ast.unparse(place.annotation))}" if place.annotation is not None else "")
    return text if default is None else f"{text} = {defaults[id(default)]}"


def _defaults(arguments: ast.arguments) -> Iterator[ast.expr]:
    yield from arguments.defaults
    yield from (default for default in arguments.kw_defaults if default is not None)


def _default(node: ast.expr, names: dict[str, Any]) -> str:
    """A default as a reader would write it: constants of ours by their value."""
    if isinstance(node, ast.Name) and node.id in names:
        return shown(names[node.id])
    return ast.unparse(node).replace("'", '"')


def shown(value: object) -> str:
    """A value in a few characters, or `…` where it takes more."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, timedelta):
        return f"timedelta(seconds={value.total_seconds():g})"
    if inspect.isclass(value) or inspect.isfunction(value):
        return value.__name__
    if is_dataclass(value) and value == _made_bare(type(value)):
        return f"{type(value).__name__}()"
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 40 and "<" not in text and " object at" not in text else "…"


def _made_bare(kind: Any) -> object:
    try:
        return kind()
    except TypeError:
        return None


def _without_self(arguments: ast.arguments) -> ast.arguments:
    for places in (arguments.posonlyargs, arguments.args):
        if places and places[0].arg in ("self", "cls"):
            del places[0]
            break
    return arguments


def _node(function: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef:
    parsed = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(parsed, ast.FunctionDef | ast.AsyncFunctionDef), function
    return parsed


def tidy(annotation: str) -> str:
    """An annotation without what only type checkers need."""
    text = re.sub(r"\b(R|T|P|C|H)_co\b", r"\1", annotation.strip("'\""))
    return re.sub(r"\bUnpack\[(\w+)\]", r"\1", text).replace("'", '"')


def of_class(kind: Any) -> str:
    """How one is made, for those that people make; "" where only the engine makes them."""
    if is_dataclass(kind) and "__init__" not in _written(kind):
        made = [field for field in fields(kind) if field.init]
        named = [field for field in made if not field.kw_only]
        keywords = [field for field in made if field.kw_only]
        parameters = [_as_parameter(kind, field) for field in named]
        parameters += ["*"] * bool(keywords) + [_as_parameter(kind, field) for field in keywords]
        return _laid_out(kind.__name__, parameters, "")
    start = kind.__init__
    if not inspect.isfunction(start) or getattr(kind, "_is_protocol", False):
        return ""
    text = _one(start, kind.__name__)
    return text.removeprefix("def ").removesuffix(" -> None")


def _as_parameter(kind: Any, field: Any) -> str:
    default = _field_default(field)
    return f"{field.name}: {field_type(field)}" + (f" = {default}" if default else "")


def field_type(field: Any) -> str:
    """The type of a dataclass's field as it is written."""
    written = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    return tidy(written)


def _field_default(field: Any) -> str:
    if field.default is not MISSING:
        return shown(field.default)
    if field.default_factory is not MISSING:
        made = getattr(field.default_factory, "__name__", "")
        return {"dict": "{}", "list": "[]", "tuple": "()", "set": "set()"}.get(made, "…")
    return ""


def _written(kind: Any) -> set[str]:
    """The names of the methods that its source has."""
    return {one.name for one in class_node(kind).body if isinstance(one, ast.FunctionDef)}


def class_node(kind: type) -> ast.ClassDef:
    """A class as its source has it."""
    parsed = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(parsed, ast.ClassDef), kind
    return parsed


def fields_of(kind: Any) -> list[Field]:
    """The public fields and attributes of a class, in the order of its source."""
    if issubclass(kind, Enum):
        return [Field(one.name, "", repr(one.value), "") for one in kind]
    if is_dataclass(kind):
        told = _told(kind)
        found = [
            Field(one.name, field_type(one), _field_default(one), told.get(one.name, ""))
            for one in fields(kind)
        ]
    elif hasattr(kind, "__total__") or hasattr(kind, "_fields"):
        told = _told(kind)
        found = [
            Field(name, _written_type(each), "", told.get(name, "")) for name, each in _annotations(kind)
        ]
    else:
        found = _attributes(kind)
    hidden = {"args"} if issubclass(kind, BaseException) else set()
    return [field for field in found if not field.name.startswith("_") and field.name not in hidden]


def _annotations(kind: Any) -> Iterator[tuple[str, Any]]:
    for base in reversed(kind.__mro__):
        yield from vars(base).get("__annotations__", {}).items()


def _written_type(annotation: Any) -> str:
    return tidy(
        getattr(annotation, "__forward_arg__", None) or getattr(annotation, "__name__", str(annotation))
    )


def _told(kind: Any) -> dict[str, str]:
    """What stands below the fields as docstrings."""
    found: dict[str, str] = {}
    for base in reversed([one for one in kind.__mro__ if one.__module__.startswith("backstay")]):
        body = class_node(base).body
        for one, after in pairwise(body):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and is_text:
                found[one.target.id] = " ".join(str(after.value.value).split())
    return found


def _attributes(kind: Any) -> list[Field]:
    """What `__init__` puts on the object, typed as the parameters are that it comes from."""
    start = kind.__init__
    if not inspect.isfunction(start) or not start.__module__.startswith("backstay"):
        return []
    node = _node(start)
    types = {
        one.arg: tidy(ast.unparse(one.annotation))
        for one in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if one.annotation is not None
    }
    found: dict[str, Field] = {}
    for statement in ast.walk(node):
        if isinstance(statement, ast.Assign):
            for target, value in _pairs(statement):
                text = _type_of(value, types, start.__globals__) or PLAIN_TYPES.get(
                    f"{kind.__name__}.{target}", ""
                )
                found.setdefault(target, Field(target, text))
        elif isinstance(statement, ast.AnnAssign) and _is_own(statement.target):
            found[statement.target.attr] = Field(
                statement.target.attr, tidy(ast.unparse(statement.annotation))
            )
    return [field for name, field in found.items() if not isinstance(getattr(kind, name, None), property)]


def _pairs(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            yield from (
                (one.attr, value)
                for one, value in zip(target.elts, statement.value.elts, strict=True)
                if _is_own(one)
            )
        elif _is_own(target):
            yield target.attr, statement.value


def _is_own(target: ast.expr) -> Any:
    return (
        isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    )


def _type_of(value: ast.expr, types: dict[str, str], names: dict[str, Any]) -> str:
    if isinstance(value, ast.Name):
        return types.get(value.id, "")
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        made = value.func.id
        first = value.args[0] if value.args else None
        inside = types.get(first.id, "") if isinstance(first, ast.Name) else ""
        if made in ("tuple", "dict") and (held := re.search(r"\[(.*)\]", inside)):
            return f"tuple[{held[1]}, ...]" if made == "tuple" else f"dict[{held[1]}]"
        if inspect.isfunction(names.get(made)):
            return tidy(str(names[made].__annotations__.get("return", "")))
        return made
    return ""
