"""Canonical JSON: one byte string a value, and clear refusals."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.decimals import decimal_text
from backstay_passport.domain.errors import InvalidInput, NotCanonical
from backstay_passport.domain.hashing import base32_no_pad, from_base32, hash_of

keys = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def test_the_published_vector_has_its_hash() -> None:
    """BPC-008, BPC-009: the known vector."""
    assert encode({"b": 2, "a": 1}) == b'{"a":1,"b":2}'
    assert (
        hash_of({"b": 2, "a": 1}).hex() == "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"
    )


@given(values)
def test_bytes_are_those_of_rfc_8785(value: Any) -> None:
    """BPC-008: an independent encoder gives the same bytes."""
    assert encode(value) == rfc8785.dumps(value)


@given(values)
def test_reading_back_gives_the_value_and_the_same_bytes(value: Any) -> None:
    """BPC-008, TC-P2-04: encoding is deterministic and loses nothing."""
    assert parse(encode(value)) == value
    assert encode(parse(json.dumps(value, indent=2).encode())) == encode(value)


@given(st.dictionaries(keys, st.integers(0, 9), min_size=2), st.randoms())
def test_the_order_of_keys_does_not_matter(value: dict[str, int], chance: Any) -> None:
    """BPC-008: permuted keys give the same bytes."""
    pairs = list(value.items())
    chance.shuffle(pairs)
    assert encode(dict(pairs)) == encode(value)


@pytest.mark.parametrize(
    ("content", "pointer", "problem"),
    [
        (b'{"a": [1, 1e3]}', "/a/1", "1e3"),
        (b'{"a": 1.5E+2}', "/a", "1.5E+2"),
        (b'{"a": NaN}', "/a", "NaN"),
        (b'{"a": -Infinity}', "/a", "-Infinity"),
        (b'{"x": {"a": 1, "a": 2}}', "/x", "twice"),
        (b'{"a/b": ["\\ud800"]}', "/a~1b/0", "surrogate"),
        (b"[12345678901234567890]", "/0", "18 digits"),
        (b"[0.1234567890123456789]", "/0", "18 digits"),
        (b'{"\\ud83d\\ude00": 1}', "", "U+FFFF"),
        (b'{"a": ', "", "line 1 column"),
        (b"\xff\xfe", "", "not UTF-8"),
        (b"[" * 100_000, "", "nested deeper"),
        (b"[" * 70 + b"]" * 70, "/0" * 65, "nested deeper"),
    ],
)
def test_what_has_no_exact_value_is_refused_with_a_pointer(
    content: bytes, pointer: str, problem: str
) -> None:
    """BPC-008: floats with exponents, NaN, duplicates, surrogates, long numbers."""
    with pytest.raises(NotCanonical) as caught:
        parse(content)
    assert caught.value.pointer == pointer
    assert problem in caught.value.problem


def test_a_binary_float_is_refused_where_it_stands() -> None:
    """BPC-008: no float is ever encoded."""
    with pytest.raises(NotCanonical) as caught:
        encode({"a": [1, 0.5]})
    assert caught.value.pointer == "/a/1"


def test_a_fraction_is_read_from_its_literal() -> None:
    """BPC-008: 12.50 and 12.5 are one value, and 0.1 stays 0.1."""
    assert encode(parse(b'{"a": 12.50, "b": -0.0, "c": 0.1}')) == b'{"a":"12.5","b":"0","c":"0.1"}'
    assert encode(parse(b"[100.0]")) == b'["100"]'


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_decimal_text_is_the_shortest_that_reads_back(value: Decimal) -> None:
    """BPC-008: one text for each decimal."""
    text = decimal_text(value)
    assert Decimal(text) == value
    assert "E" not in text
    assert not ("." in text and text.endswith("0"))


@given(st.binary(min_size=32, max_size=32))
def test_base32_has_52_characters_and_no_padding(content: bytes) -> None:
    """BPC-010, TC-P6-04: RFC 4648 in capitals without padding."""
    text = base32_no_pad(content)
    assert len(text) == 52
    assert "=" not in text
    assert from_base32(text) == content


def test_base32_with_loose_bits_is_refused() -> None:
    """BPC-033: a changed last character cannot pass for the same hash."""
    text = base32_no_pad(bytes(32))
    with pytest.raises(InvalidInput):
        from_base32(text[:-1] + "B")
