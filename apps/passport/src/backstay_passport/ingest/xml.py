"""XML documents: elements by name, lists by repetition or by their container; no entities, no outside files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from backstay_passport.domain.errors import DocumentRejected
from backstay_passport.domain.types import ListOf, Optional, Record, Type
from backstay_passport.ingest.kinds import KINDS, KindSchema, content_of
from backstay_passport.ingest.labels import read_label
from backstay_passport.ingest.tree import finished, put
from backstay_passport.ingest.values import cell_value, decimal_mark

MAX_DEPTH = 64
MIN_LABELS = 3


@dataclass
class Element:
    """An element with its text, attributes and children."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""


def read_xml(content: bytes) -> Any:
    """Return what an XML document says, shaped as JSON would have it."""
    root = _parse(content)
    for kind in KINDS:
        entries = _entries(root, kind)
        if entries:
            return {kind.list_name: [_record(entry, kind.schema) for entry in entries]}
    return _by_labels(root) or _free(root)


def _by_labels(root: Element) -> dict[str, Any] | None:
    """Return what repeated elements say whose names are labels of a kind, as those of a table's heading would be."""
    found: tuple[int, KindSchema, list[dict[str, str]]] | None = None
    for parent in _all(root):
        for name in dict.fromkeys(child.name for child in parent.children):
            rows = [_texts(child) for child in parent.children if child.name == name]
            for kind in KINDS:
                known = _labels_of(rows[0], kind)
                if (
                    kind.key in known
                    and len(known) >= MIN_LABELS
                    and (found is None or len(known) > found[0])
                ):
                    found = (len(known), kind, rows)
    if found is None:
        return None
    _, kind, rows = found
    mark = decimal_mark(text for row in rows for text in row.values())
    return content_of(kind, [_labelled(row, kind, mark) for row in rows])


def _texts(element: Element) -> dict[str, str]:
    children = {child.name: child.text.strip() for child in element.children if not child.children}
    return {**element.attributes, **children}


def _labels_of(row: dict[str, str], kind: KindSchema) -> set[Any]:
    labels = (read_label(name, kind.schema) for name in row)
    return {label.path[0] for label in labels if label is not None and len(label.path) == 1}


def _labelled(row: dict[str, str], kind: KindSchema, mark: str | None) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, text in row.items():
        label = read_label(name, kind.schema)
        if label is None:
            tree.setdefault(name, text)
        elif text:
            put(
                tree,
                label.path,
                cell_value(text, label.type, label.unit, field=str(label.path[-1]), mark=mark),
            )
    result: dict[str, Any] = finished(tree)
    return result


def _parse(content: bytes) -> Element:
    parser = expat.ParserCreate(namespace_separator="|")
    parser.buffer_text = True
    top = Element("", {})
    stack = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) > MAX_DEPTH:
            raise DocumentRejected("", f"elements nested deeper than {MAX_DEPTH} levels")
        element = Element(_name(name), {_name(key): value for key, value in attributes.items()})
        stack[-1].children.append(element)
        stack.append(element)

    def end(_name_of_it: str) -> None:
        stack.pop()

    def text(data: str) -> None:
        stack[-1].text += data

    def doctype(*_arguments: Any) -> None:
        raise DocumentRejected("", "a document type declaration is not read; save the file without DOCTYPE")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise DocumentRejected(
            "", f"not XML: {problem} at line {error.lineno} column {error.offset + 1}"
        ) from None
    except (LookupError, ValueError) as error:
        raise DocumentRejected("", f"not XML that can be read: {error}") from None
    return top.children[0]


def _name(name: str) -> str:
    local = name.rpartition("|")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", local).replace("-", "_").lower()


def _entries(root: Element, kind: KindSchema) -> list[Element]:
    for element in _all(root):
        if element.name == kind.list_name:
            return element.children
        direct = [child for child in element.children if child.name == kind.entry_name]
        if direct and element.name != kind.list_name and _looks_right(direct[0], kind):
            return direct
    return []


def _looks_right(element: Element, kind: KindSchema) -> bool:
    names = {child.name for child in element.children} | set(element.attributes)
    return kind.key in names


def _all(element: Element) -> list[Element]:
    found = [element]
    for child in element.children:
        found.extend(_all(child))
    return found


def _record(element: Element, schema: Record) -> dict[str, Any]:
    result: dict[str, Any] = dict(element.attributes)
    for child in element.children:
        kind = schema.fields.get(child.name)
        if kind is None:
            result[child.name] = _free(child)
        else:
            result[child.name] = _typed(child, _bare(kind))
    return result


def _typed(element: Element, kind: Type) -> Any:
    if isinstance(kind, Record):
        return _record(element, kind)
    if isinstance(kind, ListOf):
        return [_typed(child, _bare(kind.item)) for child in element.children]
    return element.text.strip()


def _bare(kind: Type) -> Type:
    return kind.item if isinstance(kind, Optional) else kind


def _free(element: Element) -> Any:
    """Return an element that no schema knows: text, an object, or a list of what repeats."""
    if not element.children:
        return element.text.strip()
    names = [child.name for child in element.children]
    if len(names) > 1 and len(set(names)) == 1:
        return [_free(child) for child in element.children]
    return {**element.attributes, **{child.name: _free(child) for child in element.children}}
