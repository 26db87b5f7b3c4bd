"""Keys that limits are counted by: text with arguments in braces."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping
from typing import Any

from backstay.errors import InvalidSettings

LONGEST_KEY = 200
TENANT = "tenant"


class KeyProblem(ValueError):
    """An argument cannot be part of a key."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(problem)
        self.field = field


def fields(template: str) -> list[str]:
    """The arguments that a key is made of."""
    return [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]


def filled(template: str, arguments: Mapping[str, Any], tenant: str = "") -> str:
    """The key of a job; raises KeyProblem for an argument that cannot be part of one."""
    parts = []
    for text, name, _, _ in string.Formatter().parse(template):
        parts.append(text)
        if name is not None:
            given = tenant if name == TENANT and name not in arguments else arguments.get(name)
            parts.append(_part(name, given))
    return "".join(parts)


def bounded(key: str) -> str:
    """The key itself, or what stands for one that is too long to be kept."""
    if len(key) <= LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{key[: LONGEST_KEY - 65]}~{digest}"


def check_template(what: str, template: object) -> None:
    if template is None:
        return
    if not isinstance(template, str) or not 1 <= len(template) <= LONGEST_KEY or not template.isprintable():
        raise InvalidSettings(
            f'the key of {what} cannot be {template!r:.80}: it is text such as "customer:{{customer_id}}", '
            f"at most {LONGEST_KEY} characters"
        )
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise InvalidSettings(f"the key of {what} cannot be {template!r}: {error}") from None
    names = [name for _, name, _, _ in parts if name is not None]
    odd = [
        name
        for _, name, form, change in parts
        if name is not None and (form or change or not name.isidentifier())
    ]
    if odd or not names or "{{" in template or "}}" in template:
        raise InvalidSettings(
            f"the key of {what} cannot be {template!r}: it names arguments in braces, as in "
            '"customer:{customer_id}", and nothing else inside them'
        )


def _part(name: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return value
        case _:
            raise KeyProblem(name, f"a key is made of text, whole numbers and booleans, not {_shown(value)}")


def _shown(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
