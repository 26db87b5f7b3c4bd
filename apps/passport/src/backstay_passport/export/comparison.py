"""What a file of ours says, flattened, so that two files can be compared value by value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any
from xml.etree import ElementTree as etree

from backstay_passport.domain.errors import InvalidInput

# What is said of the file itself, and changes while the version stays.
UNBOUND = ("@context", "valid")


def flat_json(content: bytes) -> dict[str, str]:
    """Return the values of a JSON-LD document by their paths."""
    try:
        value = json.loads(content, parse_float=Decimal)
        if not isinstance(value, dict):
            raise InvalidInput("this is not a JSON object")
        return dict(_json_values({name: part for name, part in value.items() if name not in UNBOUND}, ""))
    except (ValueError, RecursionError):
        raise InvalidInput("this is not JSON that can be read") from None


def _json_values(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _json_values(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _json_values(part, f"{path}[{number}]")
    else:
        yield path, str(value)


def flat_xml(content: bytes) -> dict[str, str]:
    """Return the texts and attributes of an XML document by their paths."""
    try:
        text = content.decode("utf-8-sig")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise InvalidInput("a document type declaration is not read")
        root = etree.fromstring(text)  # noqa: S314 - there are no entities without a document type
        return dict(_xml_values(root, _local(root.tag)))
    except (etree.ParseError, RecursionError, ValueError):
        raise InvalidInput("this is not XML that can be read") from None


def _xml_values(element: etree.Element, path: str) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        yield f"{path}@{_local(name)}", value
    if len(element) == 0:
        yield path, element.text or ""
    seen: Counter[str] = Counter()
    for child in element:
        name = _local(child.tag)
        yield from _xml_values(child, f"{path}.{name}[{seen[name]}]")
        seen[name] += 1


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def first_difference(given: Mapping[str, str], whole: Mapping[str, str]) -> str | None:
    """Return the first value of a file that the whole version does not say; None if it says all of them."""
    for path, text in given.items():
        if path not in whole:
            return f"{path}: is not in this version"
        if whole[path] != text:
            return f"{path}: is not what this version says"
    return None
