"""Errors of one cause have one fingerprint, and those of different causes have different ones."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.model.fingerprints import fingerprint, place, without_particulars

TRACE = """  File "/srv/{release}/shop/orders.py", line {line}, in push
    await client.post(order)
  File "/usr/lib/python3.13/site-packages/httpx/client.py", line 9, in post
    raise error
ValueError: boom"""


def death(**facts: Any) -> str:
    error = {"type": "ValueError", "message": "boom", "error_class": "unknown", "traceback": "", **facts}
    return fingerprint("push", "exhausted", error)


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("order 17 has no address", "order <number> has no address"),
        ("took 1.5 s at 12:30:05", "took <number> s at <number>"),
        ("no job 0190b6c4-5ad8-7195-9680-8257a529aa1f", "no job <id>"),
        ("object at 0x7f3a2c", "object at <number>"),
        ("commit deadbeef01 is gone", "commit <number> is gone"),
        ("no key 'colour' in \"paint\"", "no key <text> in <text>"),
        ("it doesn't fit, won't it", "it doesn't fit, won't it"),
        ("cannot read /srv/data/7.csv: gone", "cannot read <path>: gone"),
        ("cannot read C:\\data\\7.csv", "cannot read <path>"),
        ("GET https://shop.example/orders/7 failed", "GET <path> failed"),
        ("either/or", "either/or"),
        ("  two\n lines ", "two lines"),
    ],
)
def test_particulars_are_replaced_by_what_they_are(message: str, kept: str) -> None:
    assert without_particulars(message) == kept


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_numbers_do_not_count(one: int, other: int) -> None:
    assert death(message=f"row {one}.") == death(message=f"row {other}.")


@given(st.uuids(), st.uuids())
def test_ids_do_not_count(one: UUID, other: UUID) -> None:
    assert death(message=f"no user {one}") == death(message=f"no user {other}")


WORDS = st.text(st.characters(exclude_characters="'\n\"`"), max_size=40)


@given(WORDS, WORDS)
def test_quoted_texts_do_not_count(one: str, other: str) -> None:
    assert death(message=f'no key "{one}" here') == death(message=f'no key "{other}" here')


ERRORS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("type", "message", "error_class", "traceback"), st.text())
)


@given(kind=st.text(), reason=st.text(), error=ERRORS)
def test_every_text_has_a_fingerprint(kind: str, reason: str, error: dict[str, str]) -> None:
    found = fingerprint(kind, reason, error)

    assert len(bytes.fromhex(found)) == 32
    assert found == fingerprint(kind, reason, error)


def test_kind_class_type_message_and_place_count() -> None:
    found = {
        death(),
        death(type="KeyError"),
        death(message="bang"),
        death(error_class="timeout"),
        death(traceback=TRACE),
        fingerprint("pull", "exhausted", {"type": "ValueError", "message": "boom", "error_class": "unknown"}),
        fingerprint("push", "deadline", None),
        fingerprint("push", "crash loop", None),
    }

    assert len(found) == 8


def test_the_place_is_the_innermost_call_of_the_users_code() -> None:
    assert place(TRACE.format(release="v1", line=7)) == "shop/orders.py:push"


def test_a_new_release_and_moved_lines_do_not_count() -> None:
    one, other = TRACE.format(release="v1", line=7), TRACE.format(release="v2", line=9)

    assert death(traceback=one) == death(traceback=other)


def test_without_code_of_the_user_the_innermost_call_of_all_counts() -> None:
    assert (
        place('  File "/usr/lib/python3.13/json/decoder.py", line 1, in decode') == "json/decoder.py:decode"
    )
    assert place("no frames at all") == ""


@pytest.mark.parametrize("text", ["\n", "a.", "'", '"', "/", "../", ' File "', "0x", "1-"])
def test_the_time_for_a_nasty_text_grows_with_its_length_alone(text: str) -> None:
    """Eight times the length takes about eight times the time; quadratic would be sixty-four."""
    short, long = (shortest_time(text * (length // len(text))) for length in (8_192, 65_536))

    assert long < 32 * max(short, 0.0005)


def shortest_time(nasty: str) -> float:
    """Processor time of the best of three, so that a busy machine does not count."""
    took = []
    for _ in range(3):
        began = time.process_time()
        death(message=nasty, traceback=nasty)
        took.append(time.process_time() - began)
    return min(took)
