"""Values that JSON can give back unchanged are stored; all others are refused with their place."""

from __future__ import annotations

import json
import math
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from backstay.errors import InvalidPayload
from backstay.handlers import codec

SAFE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(codec.INT_MIN, codec.INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | SAFE_TEXT
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(SAFE_TEXT, inner), max_leaves=20
)
BAD_SCALARS = st.sampled_from(
    [math.nan, math.inf, -math.inf, "a\0b", "\ud800", 2**63, -(2**63) - 1, 10**5000, object(), 1j]
)


class Colour(Enum):
    RED = "red"


class Size(StrEnum):
    SMALL = "small"


@dataclass
class Person:
    name: str
    born: date


class Point(msgspec.Struct, rename="camel"):
    x_value: float


class Order(BaseModel):
    number: int
    at: datetime


def nested(depth: int, *, innermost: object = None) -> object:
    value: object = innermost
    for _ in range(depth):
        value = [value]
    return value


def look_up(value: Any, pointer: str) -> object:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def refusal(value: object, **options: Any) -> InvalidPayload:
    with pytest.raises(InvalidPayload) as caught:
        codec.encode(value, **options)
    return caught.value


def strict_refusal(text: str | bytes, **options: Any) -> InvalidPayload:
    with pytest.raises(InvalidPayload) as caught:
        codec.decode_strict(text, **options)
    return caught.value


@given(VALUES)
def test_an_accepted_value_comes_back_equal(value: object) -> None:
    text = codec.encode(value)

    assert codec.decode(text) == value
    assert codec.decode_strict(text) == value
    assert json.loads(text) == value


@given(VALUES)
def test_types_survive_where_python_calls_them_equal(value: object) -> None:
    assert repr(codec.decode(codec.encode(value))) == repr(value)


@given(VALUES, SAFE_TEXT, BAD_SCALARS, VALUES)
def test_a_refusal_points_at_the_bad_part(before: object, key: str, bad: object, after: object) -> None:
    value = {"first": before, "list": [before, {key: bad}], "last": after}

    pointer = refusal(value).pointer

    assert look_up(value, pointer) is bad


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_strict_reading_either_gives_a_storable_value_or_refuses(text: str | bytes) -> None:
    try:
        value = codec.decode_strict(text)
    except InvalidPayload:
        return

    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (uuid.UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), '"2024-02-29T12:00:00Z"'),
        (Decimal("1.10"), '"1.10"'),
        (Colour.RED, '"red"'),
        ({Size.SMALL: 1}, '{"small":1}'),
        ({uuid.UUID(int=7): 1}, '{"00000000-0000-0000-0000-000000000007":1}'),
        ((1, 2), "[1,2]"),
        ({"a": (1, frozenset({2}))}, '{"a":[1,[2]]}'),
        (Person("Ada", date(1815, 12, 10)), '{"name":"Ada","born":"1815-12-10"}'),
        ([Point(x_value=1.0)], '[{"xValue":1.0}]'),
        (Order(number=1, at=datetime(2024, 1, 1, tzinfo=UTC)), '{"number":1,"at":"2024-01-01T00:00:00Z"}'),
        (None, "null"),
    ],
)
def test_richer_types_are_written_as_json(value: object, text: str) -> None:
    assert codec.encode(value) == text


@pytest.mark.parametrize(
    ("value", "pointer", "problem"),
    [
        ({"a": math.nan}, "/a", "nan"),
        ({"a/b~c": [0, math.inf]}, "/a~1b~0c/1", "inf"),
        ({"a": {1: "x"}}, "/a", "key of type int"),
        ({True: "x"}, "", "key of type bool"),
        ({None: "x"}, "", "key of type NoneType"),
        ({"a": {"b\0": 1}}, "/a", "NUL"),
        ({"\ud800": 1}, "", "surrogate"),
        ({"a": [object()]}, "/a/0", "type object"),
        ({"a": Point(x_value=math.nan)}, "/a/xValue", "nan"),
        ({"a": Person("a\0", date(2000, 1, 1))}, "/a/name", "NUL"),
        ({"a": lambda: None}, "/a", "function"),
        ({uuid.UUID(int=7): 1, str(uuid.UUID(int=7)): 2}, "", "two keys"),
        ({"a": Decimal("1"), "b": 2**64}, "/b", "64 bits"),
    ],
)
def test_a_value_json_would_alter_is_refused(value: object, pointer: str, problem: str) -> None:
    error = refusal(value)

    assert error.pointer == pointer
    assert problem in error.problem


@pytest.mark.parametrize("equals", [lambda self, other: self.rate == other.rate, lambda self, other: True])
def test_how_an_object_compares_does_not_matter(equals: Any) -> None:
    @dataclass(eq=False)
    class Rate:
        rate: float

        __eq__ = equals
        __hash__ = None  # type: ignore[assignment]  # an object with __eq__ alone has none

    assert codec.encode({"a": [Rate(0.5)]}) == '{"a":[{"rate":0.5}]}'
    assert refusal({"a": [Rate(math.nan)]}).pointer == "/a/0/rate"


def test_unsupported_objects_are_named_with_their_module() -> None:
    class Session: ...

    assert f"{__name__}." in str(refusal({"session": Session()}))
    assert "Session" in str(refusal({"session": Session()}))


def test_depth_64_is_kept_and_65_refused() -> None:
    assert codec.decode(codec.encode(nested(64))) == nested(64)

    assert refusal(nested(65)).pointer == "/0" * 64
    assert refusal(nested(100_000)).pointer == "/0" * 64


def test_brackets_in_text_are_not_depth() -> None:
    value = {"text": "[{" * 500, "many": [[] for _ in range(100)]}

    assert codec.decode(codec.encode(value)) == value
    assert codec.decode_strict(codec.encode(value)) == value


def test_text_that_looks_like_a_problem_is_kept() -> None:
    value = {"nul": r"\u0000", "digits": "9" * 40, "nan": "NaN", "null": [None, "null"]}

    assert codec.decode(codec.encode(value)) == value


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)

    error = refusal(value)

    assert "contains itself" in error.problem
    assert error.pointer == "/a/0"


def test_a_value_shared_by_two_parts_is_not_a_cycle() -> None:
    shared = (1, 2)

    assert codec.encode({"a": shared, "b": shared}) == '{"a":[1,2],"b":[1,2]}'


def test_size_is_counted_in_bytes() -> None:
    assert codec.encode("é" * 4, limit_bytes=10) == '"éééé"'

    error = refusal("é" * 5, limit_bytes=10, what="result")

    assert str(error) == "result: 12 bytes of JSON, more than the 10 allowed"


@pytest.mark.parametrize(
    ("text", "pointer", "problem"),
    [
        ('{"a":NaN}', "/a", "NaN"),
        ('{"a":[-Infinity]}', "/a/0", "-Infinity"),
        ("[1e999]", "/0", "too large"),
        ("[9223372036854775808]", "/0", "64 bits"),
        ("[" + "9" * 5000 + "]", "/0", "64 bits"),
        ('{"a":{"b":1,"b":2}}', "/a/b", "same key twice"),
        ('["\\u0000"]', "/0", "NUL"),
        ('{"a":{"\\u0000":1}}', "/a", "NUL"),
        ('["\\ud800"]', "/0", "surrogate"),
        ('["\ud800"]', "/0", "surrogate"),
        ("[" * 65 + "]" * 65, "/0" * 64, "deeper than 64"),
        ("[" * 100_000, "/0" * 64, "deeper than 64"),
        ('{"k":' * 70, "/k" * 64, "deeper than 64"),
    ],
)
def test_text_from_outside_is_refused_with_its_place(text: str, pointer: str, problem: str) -> None:
    error = strict_refusal(text)

    assert error.pointer == pointer
    assert problem in error.problem


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", "byte 0"),
        ('{"a', "byte 1"),
        ('{"é": tru}', "byte 7"),
        ("[1]x", "byte 3"),
        ("[01]", "byte 2"),
        ("\ufeff1", "byte 0"),
        (b"\xef\xbb\xbf1", "byte 0"),
        (b'"\xff"', "offset 1"),
        ("[1]".encode("utf-16"), "offset 0"),
        ('"\x01"', "byte 1"),
    ],
)
def test_text_that_is_not_json_is_refused_with_its_offset(text: str | bytes, offset: str) -> None:
    assert offset in str(strict_refusal(text))


def test_strict_reading_counts_bytes_before_parsing() -> None:
    assert codec.decode_strict(b'"\xc3\xa9"', limit_bytes=4) == "é"
    assert "5 bytes" in str(strict_refusal('"é "', limit_bytes=4))


@given(st.dictionaries(SAFE_TEXT, VALUES, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_change_a_fingerprint(value: dict[str, object], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)

    first = codec.fingerprint("mail", codec.encode(value), {"queue": "a", "priority": 5})
    second = codec.fingerprint("mail", codec.encode(dict(items)), {"priority": 5, "queue": "a"})

    assert first == second
    assert len(first) == 64


def test_another_kind_argument_or_option_changes_the_fingerprint() -> None:
    prints = {
        codec.fingerprint("mail", '{"a":1}', {}),
        codec.fingerprint("post", '{"a":1}', {}),
        codec.fingerprint("mail", '{"a":2}', {}),
        codec.fingerprint("mail", '{"a":"1"}', {}),
        codec.fingerprint("mail", '{"a":1}', {"priority": 1}),
    }

    assert len(prints) == 5


def test_canonical_text_is_sorted_compact_and_exact() -> None:
    value = {"b": 1e300, "a": ["é", 0.1], "c": uuid.UUID(int=0)}

    expected = '{"a":["é",0.1],"b":1e+300,"c":"00000000-0000-0000-0000-000000000000"}'
    assert codec.canonical(value).decode() == expected


@pytest.mark.parametrize("name", ["mail", "DOCUMENT_PROCESSING", "a.b:c-d_e", "7", "x" * 128])
def test_names_of_kinds_and_queues(name: str) -> None:
    assert codec.check_name("queue", name) == name


@pytest.mark.parametrize(
    "name", ["", "x" * 129, "_a", "-a", "a b", "a/b", "../a", "é", "a\n", "a\0", "\u202ea", 7, None]
)
def test_other_names_are_refused_with_the_field(name: object) -> None:
    with pytest.raises(InvalidPayload, match="queue") as caught:
        codec.check_name("queue", name)

    assert caught.value.pointer == "/queue"


@pytest.mark.parametrize("key", ["a", "order 7/é ✓", "x" * 255, "キー"])
def test_keys_are_any_printable_text(key: str) -> None:
    assert codec.check_key("key", key) == key


@pytest.mark.parametrize(
    "key", ["", "x" * 256, "a\0", "a\n", "a\x7f", "é\x85", "\u202ea", "a\u2066", "e\u0301", "\ud800", 7, None]
)
def test_other_keys_are_refused_with_the_field(key: object) -> None:
    with pytest.raises(InvalidPayload, match="tenant") as caught:
        codec.check_key("tenant", key)

    assert caught.value.pointer == "/tenant"
