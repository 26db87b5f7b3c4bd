"""One public class, function or noun of an application as a piece of Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property
from typing import Any

from api import signatures
from api.signatures import Field
from api.words import word_for

MODULE = re.compile(r"\b(?:[a-z_]+\.)+")
PARTS_OF_CODE = re.compile(r"(`[^`]*`)")
WITHOUT_SOURCE = {
    "JobId": ("JobId = NewType('JobId', UUID)", "The type of a job's id, a UUID."),
    "__version__": ("__version__: str", "Which release this is."),
}
LONGEST_SIGNATURE = 400


def of_name(name: str, value: Any) -> str:
    """Whatever a module has under a name."""
    if name in WITHOUT_SOURCE:
        signature, text = WITHOUT_SOURCE[name]
        return joined(f"## {name}", code(signature), text)
    if inspect.isclass(value):
        return of_class(name, value)
    if inspect.isfunction(value):
        return joined(f"## {name}", code(signatures.of_function(value, name)), prose(value.__doc__))
    # An alias for a type: as it prints, without the modules that its parts live in.
    return joined(f"## {name}", code(f"{name} = {MODULE.sub('', repr(value))}"))


def of_class(name: str, kind: Any) -> str:
    """A class with its signature, its fields and its public methods."""
    return joined(
        f"## {name}",
        bases(kind),
        prose(inspect.cleandoc(kind.__doc__ or "") if "__doc__" in vars(kind) else ""),
        made_by(kind),
        field_table(name, kind),
        *methods(name, kind),
    )


def of_noun(name: str, kind: Any, about: str, *, has_twin: bool) -> str:
    """What an application has as an attribute."""
    twin = f"`app.sync.{name}` has the same methods as blocking calls." if has_twin else ""
    return joined(f"## app.{name}", f"{about}\n{twin}".strip(), *methods(f"app.{name}", kind))


def bases(kind: Any) -> str:
    """What it inherits from, where that helps whoever catches or checks it."""
    above = kind.__mro__[1]
    if issubclass(kind, BaseException):
        return f"An exception, below `{above.__name__}`."
    if above.__module__.startswith("backstay") and not above.__name__.startswith("_") and _is_public(above):
        return f"It has all that a `{above.__name__}` has."
    return ""


def _is_public(kind: Any) -> bool:
    from api.pages import public_classes

    return kind in public_classes()


def made_by(kind: Any) -> str:
    """How one is made, unless the table of fields says the same at length or only the engine makes them."""
    if issubclass(kind, Enum) or hasattr(kind, "__total__") or _has_private_parameters(kind):
        return ""
    if getattr(kind, "_is_protocol", False):
        called = vars(kind).get("__call__")
        return code(signatures.of_function(called, "__call__")) if called is not None else ""
    text = signatures.of_class(kind)
    return code(text) if 0 < len(text) <= LONGEST_SIGNATURE else ""


TWINS = {
    "Options": "[JobOptions](handlers.md#joboptions)",
    "PolicyFields": "[Policy](policies.md#policy)",
}
"""Classes that exist for type checkers: their fields are told where people look for them."""

ONLY_THE_ENGINE_MAKES = {
    "AsyncHandler",
    "BoundHandler",
    "BatchHandler",
    "Flow",
    "FlowNode",
    "Handler",
    "JobArgs",
    "JobHandle",
    "Locking",
    "Phase",
    "PlainHandler",
    "SyncHarness",
    "SyncTransaction",
    "Transacting",
    "Transaction",
    "Worker",
    "Acting",
    "Harness",
    "Statements",
}


def _has_private_parameters(kind: Any) -> bool:
    return kind.__name__ in ONLY_THE_ENGINE_MAKES


def field_table(name: str, kind: Any) -> str:
    """The fields of a class with types and meaning."""
    if name in TWINS:
        return f"Its fields are those of {TWINS[name]}."
    found = signatures.fields_of(kind)
    if not found:
        return ""
    if issubclass(kind, Enum):
        return table(
            ("name", "value", "meaning"),
            ([code_of(f.name), code_of(f.default), meaning(name, f)] for f in found),
        )
    has_defaults = any(field.default for field in found)
    heads = ("field", "type", "default", "meaning") if has_defaults else ("field", "type", "meaning")
    return table(heads, (list(row(name, field, has_defaults=has_defaults)) for field in found))


def row(owner: str, field: Field, *, has_defaults: bool) -> Iterator[str]:
    yield code_of(field.name)
    yield code_of(field.type) if field.type else ""
    if has_defaults:
        yield code_of(field.default) if field.default else ""
    yield meaning(owner, field)


def meaning(owner: str, field: Field) -> str:
    """One line for a field: what its source says below it, else what the list of words says."""
    text = field.about or word_for(owner, field.name)
    return escaped(text[:1].lower() + text[1:] if text[1:2].islower() else text).removesuffix(".")


def methods(owner: str, kind: Any) -> Iterator[str]:
    """Each public method and property, in the order of the source, those of bases after its own."""
    for name, member in public_members(kind):
        if isinstance(member, property | cached_property):
            getter = member.fget if isinstance(member, property) else member.func
            returned = signatures.of_function(getter, name).partition(" -> ")[2]
            yield joined(
                f"### {owner}.{name}", code(f"{name}: {returned}"), prose(getter.__doc__ if getter else "")
            )
        else:
            function = getattr(member, "__func__", member)
            is_static = isinstance(member, staticmethod | classmethod)
            text = signatures.of_function(function, name)
            before = f"@{type(member).__name__}\n" if is_static else ""
            yield joined(f"### {owner}.{name}", code(before + text), prose(function.__doc__))


def public_members(kind: Any) -> Iterator[tuple[str, Any]]:
    """What a class and its bases of ours define for users."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("backstay") or (base is not kind and _is_public(base)):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen or not is_shown(member):
                continue
            seen.add(name)
            yield name, member


def is_shown(member: Any) -> bool:
    inner: Callable[..., Any] | None
    if isinstance(member, property):
        inner = member.fget
    elif isinstance(member, cached_property):
        inner = member.func
    else:
        inner = getattr(member, "__func__", member)
    # Not the functions of others that stand there as the defaults of fields.
    return inspect.isfunction(inner) and bool(inner.__doc__) and inner.__module__.startswith("backstay")


def prose(text: str | None) -> str:
    """A docstring as Markdown: examples become blocks, paragraphs one line each."""
    shown = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            lines = [line.removeprefix(">>> ").removeprefix("... ") for line in paragraph.splitlines()]
            shown.append(code("\n".join(lines)))
        elif paragraph.startswith("```"):
            shown.append(paragraph)
        else:
            shown.append(escaped(" ".join(paragraph.split())))
    return "\n\n".join(filter(None, shown))


def code(text: str) -> str:
    return f"```python\n{text}\n```"


def code_of(text: str) -> str:
    return f"`{text}`"


def escaped(text: str) -> str:
    """Text outside of code with what Markdown would take for emphasis made plain."""
    parts = PARTS_OF_CODE.split(text)
    return "".join(part if part.startswith("`") else part.replace("*", "\\*") for part in parts)


def table(headings: tuple[str, ...], rows: Any) -> str:
    lines = [list(headings), ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
