"""Reads the JSON schema of a kind's arguments back as a type, for callers that do not have the handler."""

from __future__ import annotations

import operator
import types
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

Schema = Mapping[str, Any]

_FORMATS: dict[str, Any] = {
    "date-time": Annotated[datetime, msgspec.Meta(tz=True)],
    "date": date,
    "time": time,
    "duration": timedelta,
    "uuid": UUID,
    "decimal": Decimal,
}
_PLAIN: dict[str, Any] = {"integer": int, "number": float, "boolean": bool, "null": None}
# What a schema calls a rule, and what the reader calls it.
_RULES = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "pattern": "pattern",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "minProperties": "min_length",
    "maxProperties": "max_length",
}


def reader_of(schema: Schema) -> msgspec.json.Decoder[Any]:
    """What reads JSON that fits the schema; parts of a form that signatures do not produce may be anything."""
    return msgspec.json.Decoder(_type_of(schema, schema, frozenset()))


def _type_of(schema: Any, root: Schema, within: frozenset[str]) -> Any:
    made = _made(schema, root, within)
    try:
        msgspec.json.Decoder(made)
    except TypeError:
        # Such as a choice between two objects, which the reader could not tell apart.
        return Any
    return made


def _made(schema: Any, root: Schema, within: frozenset[str]) -> Any:
    if not isinstance(schema, Mapping):
        return Any
    if "$defs" in schema:
        # A class of another library brings its own definitions, and its references mean those.
        root = schema
    reference = schema.get("$ref")
    if reference is not None:
        # A type that has itself inside is checked once, and not further down.
        return Any if reference in within else _type_of(_found(reference, root), root, within | {reference})
    if "const" in schema or "enum" in schema:
        return _literal(schema.get("enum", [schema.get("const")]))
    choices = schema.get("anyOf", schema.get("oneOf"))
    if choices is not None:
        return reduce(operator.or_, [_type_of(choice, root, within) or types.NoneType for choice in choices])
    if "prefixItems" in schema:
        # How many there are is said by the items themselves.
        return tuple[tuple(_type_of(item, root, within) for item in schema["prefixItems"])]  # type: ignore[misc]  # made at run time
    return _with_rules(_by_type(schema, root, within), schema)


def _found(reference: str, root: Schema) -> Any:
    place: Any = root
    for name in reference.removeprefix("#/").split("/"):
        place = place.get(name) if isinstance(place, Mapping) else None
    return place


def _literal(values: list[Any]) -> Any:
    is_known = all(value is None or type(value) in (str, int) for value in values)
    return Literal[tuple(values)] if is_known and values else Any


def _by_type(schema: Schema, root: Schema, within: frozenset[str]) -> Any:
    match schema.get("type"):
        case "string" if "contentEncoding" in schema:
            return bytes
        case "string":
            return _FORMATS.get(schema.get("format", ""), str)
        case "array":
            return list[_type_of(schema.get("items"), root, within)]  # type: ignore[misc]  # made at run time
        case "object" if "properties" in schema or schema.get("additionalProperties") is False:
            return _struct(schema, root, within)
        case "object":
            return dict[str, _type_of(schema.get("additionalProperties"), root, within)]  # type: ignore[misc]  # made at run time
        case str(name) if name in _PLAIN:
            return _PLAIN[name]
        case _:
            return Any


def _struct(schema: Schema, root: Schema, within: frozenset[str]) -> type[msgspec.Struct]:
    required = schema.get("required", ())
    members = []
    for index, (name, inner) in enumerate(schema.get("properties", {}).items()):
        kind = _type_of(inner, root, within)
        known = (
            msgspec.field(name=name) if name in required else msgspec.field(name=name, default=msgspec.UNSET)
        )
        # Members are numbered, because not every name may name a member of a struct.
        members.append((f"member_{index}", kind, known))
    is_closed = schema.get("additionalProperties") is False
    return msgspec.defstruct("Arguments", members, kw_only=True, forbid_unknown_fields=is_closed)


def _with_rules(kind: Any, schema: Schema) -> Any:
    rules = {_RULES[name]: value for name, value in schema.items() if name in _RULES}
    if not rules or kind is Any:
        return kind
    return Annotated[kind, msgspec.Meta(**rules)]
