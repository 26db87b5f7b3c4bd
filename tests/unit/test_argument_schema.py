"""A program without the handler takes the arguments that the handler takes, by the schema alone."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel

from backstay.handlers.argument_schema import reader_of


class Parcel(msgspec.Struct, forbid_unknown_fields=True):
    weight: Annotated[int, msgspec.Meta(gt=0)]
    labels: list[str] = []
    inside: Parcel | None = None


class Label(BaseModel):
    text: str
    size: int = 1


TYPES: list[Any] = [
    int,
    float,
    bool,
    None,
    str | None,
    str | int,
    list[int],
    dict[str, int],
    tuple[int, str],
    Literal["red", "x", None],
    date,
    timedelta,
    UUID,
    Decimal,
    bytes,
    Parcel,
    Parcel | None,
    list[Parcel],
    Annotated[str, msgspec.Meta(min_length=2, pattern="^a.*z$")],
    Annotated[list[int], msgspec.Meta(min_length=1, max_length=2)],
    Annotated[int, msgspec.Meta(multiple_of=3, ge=-3, lt=6)],
    Annotated[datetime, msgspec.Meta(tz=True)],
    Annotated[datetime, msgspec.Meta(tz=True)] | None,
    Any,
]
VALUES = [
    "null",
    "true",
    "0",
    "3",
    "-6",
    "2.5",
    "1.0",
    '""',
    '"a"',
    '"az"',
    '"abz"',
    '"red"',
    '"x"',
    "[]",
    "[1]",
    '[1,"x"]',
    "[1,2,3]",
    "{}",
    '{"a":1}',
    '{"a":"x"}',
    '{"weight":1}',
    '{"weight":0}',
    '{"weight":1,"more":2}',
    '{"weight":1,"inside":{"weight":2,"labels":["a"]}}',
    '[{"weight":1}]',
    '[{"weight":"1"}]',
    '"2026-02-28"',
    '"2026-02-30"',
    '"P1DT2H"',
    '"PT"',
    '"-PT1.5S"',
    '"1.5"',
    '"NaN"',
    '"aGk="',
    '"aGk"',
    '"550e8400-e29b-41d4-a716-446655440000"',
    '"2026-05-10T12:00:00Z"',
    '"2026-05-10T25:00:00Z"',
]


def problem(reader: msgspec.json.Decoder[Any], text: str) -> str | None:
    try:
        reader.decode(text)
    except msgspec.ValidationError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_the_schema_takes_and_refuses_what_the_type_does_in_the_same_words(kind: Any) -> None:
    by_type, by_schema = msgspec.json.Decoder(kind), reader_of(msgspec.json.schema(kind))

    assert {text: problem(by_schema, text) for text in VALUES} == {
        text: problem(by_type, text) for text in VALUES
    }


def test_a_schema_of_another_library_is_understood() -> None:
    reader = reader_of({"type": "object", "properties": {"label": Label.model_json_schema()}})

    assert problem(reader, '{"label": {"text": "a", "more": 1}}') is None
    assert problem(reader, '{"label": {"size": 1}}') == (
        "Object missing required field `text` - at `$.label`"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": ["string", "null"]},
        {"not": {"type": "string"}},
        {"$ref": "#/$defs/nowhere"},
        {"enum": [1.5, [2]]},
        {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
    ],
    ids=str,
)
def test_what_is_not_understood_may_be_anything(schema: dict[str, Any]) -> None:
    reader = reader_of(schema)

    assert [problem(reader, text) for text in ("1", '"a"', "{}", "null")] == [None] * 4
