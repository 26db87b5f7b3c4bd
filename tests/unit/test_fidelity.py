"""What is refused because it would arrive at its handler as something less."""

from __future__ import annotations

import enum
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest

from backstay.errors import InvalidArguments
from backstay.handlers.spec import describe


class Colour(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    LARGE = 3


@dataclass
class Base:
    a: int = 1


@dataclass
class Derived(Base):
    b: int = 2


@dataclass
class Line:
    sku: str
    tags: list[Any]


class Cover(msgspec.Struct):
    title: str


def untyped(value): ...  # type: ignore[no-untyped-def]  # as many write their handlers


def anything(value: Any) -> None: ...


def mapping(value: dict) -> None: ...  # type: ignore[type-arg]  # a bare type is what is tested


def sequence(value: list) -> None: ...  # type: ignore[type-arg]  # a bare type is what is tested


def one_base(value: Base) -> None: ...


def one_line(value: Line) -> None: ...


def many_dates(value: dict[str, list[datetime]]) -> None: ...


NOW = datetime(2030, 5, 17, 12, tzinfo=UTC)
RICH = [
    b"abc",
    {1, 2},
    Decimal("1.10"),
    NOW,
    NOW.date(),
    timedelta(1),
    UUID(int=7),
    Colour.RED,
    Base(),
    Cover("x"),
]


@pytest.mark.parametrize("value", RICH, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("function", [untyped, anything])
def test_a_value_that_no_annotation_brings_back_is_refused_by_name(function: Any, value: object) -> None:
    with pytest.raises(InvalidArguments, match=f"{type(value).__name__}, which would arrive as .*value"):
        describe(function).bind((), {"value": value})


@pytest.mark.parametrize("value", RICH, ids=lambda value: type(value).__name__)
def test_inside_of_untyped_containers_its_place_is_told(value: object) -> None:
    with pytest.raises(InvalidArguments) as in_mapping:
        describe(mapping).bind((), {"value": {"first": 1, "second": [value]}})
    with pytest.raises(InvalidArguments) as in_sequence:
        describe(sequence).bind((), {"value": ["text", {"deep": value}]})

    assert in_mapping.value.field == "value.second[0]"
    assert in_sequence.value.field == "value[1].deep"


def test_bytes_do_not_become_text_in_a_field() -> None:
    with pytest.raises(InvalidArguments) as refused:
        describe(one_line).bind((), {"value": Line(sku=b"x", tags=[])})  # type: ignore[arg-type]  # the mistake

    assert refused.value.field == "value.sku"


def test_a_subclass_does_not_lose_its_fields() -> None:
    with pytest.raises(InvalidArguments, match="Derived, which would arrive as Base"):
        describe(one_base).bind((), {"value": Derived()})


def test_a_key_does_not_become_text() -> None:
    with pytest.raises(InvalidArguments, match="a key of type UUID"):
        describe(mapping).bind((), {"value": {UUID(int=7): 1}})


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (anything, {"a": [1, 2.5, None, True, "text"]}),
        (anything, (1, 2)),
        (anything, OrderedDict(a=1)),
        (anything, Size.LARGE),
        (sequence, ((1, 2), [3])),
        (one_base, Base(7)),
        (one_base, {"a": 7}),
        (one_line, Line("x", [1, "two"])),
        (many_dates, {"a": [NOW, NOW + timedelta(1)]}),
        (many_dates, {"a": ["2030-05-17T12:00:00Z"]}),
    ],
)
def test_what_json_has_and_what_annotations_bring_back_is_taken(function: Any, value: object) -> None:
    spec = describe(function)

    assert spec.unpack(spec.bind((), {"value": value}))


def test_a_declared_kind_takes_only_what_json_has() -> None:
    from backstay.handlers.registry import Registry

    spec = Registry().declare("elsewhere")

    with pytest.raises(InvalidArguments, match="date, which would arrive as str"):
        spec.bind((), {"day": date(2030, 5, 17)})
