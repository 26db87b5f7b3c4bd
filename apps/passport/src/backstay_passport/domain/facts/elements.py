"""Reading the list of elements that each kind of document is made of."""

from __future__ import annotations

from typing import Any

from backstay_passport.domain.canonical import pointer_to
from backstay_passport.domain.errors import DocumentRejected


def elements(content: Any, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of the list `name` of a document, each with its pointer."""
    if not isinstance(content, dict):
        raise DocumentRejected("", f"not an object with {name!r}")
    found = content.get(name)
    if found is None:
        raise DocumentRejected(f"/{name}", "missing")
    if not isinstance(found, list):
        raise DocumentRejected(f"/{name}", "not a list")
    if not found:
        raise DocumentRejected(f"/{name}", "empty; a document without entries says nothing")
    result = []
    for number, element in enumerate(found):
        pointer = pointer_to(f"/{name}", number)
        if not isinstance(element, dict):
            raise DocumentRejected(pointer, "not an object")
        result.append((pointer, element))
    return result
