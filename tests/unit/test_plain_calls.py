"""The quick ways that most calls become JSON take none that the thorough one would refuse, and write no other text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstay.errors import InvalidArguments, InvalidPayload
from backstay.handlers.fast_encoding import NO_PLAIN_CALLS, plain_calls
from backstay.handlers.signature import read_signature
from backstay.handlers.spec import HandlerSpec


def send(to: str, times: int, is_urgent: bool = False, note: str | None = None) -> None:
    """A handler of plain arguments."""


SIGNATURE = read_signature(send)
quick = plain_calls(SIGNATURE, limit_bytes=1000)
plain = st.fixed_dictionaries({"to": st.text("abc", max_size=20), "times": st.integers(-(10**17), 10**17)})

texts = st.text() | st.sampled_from(["\0", "\ud800", "\\u0000", '"', "1" * 30, "é" * 400, "x" * 900])
numbers = st.integers() | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**18, 10**19])
values = texts | numbers | st.booleans() | st.none() | st.floats() | st.lists(st.integers(), max_size=2)
names = st.sampled_from(["to", "times", "is_urgent", "note", "too"])


def thorough(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    spec = HandlerSpec(kind="send", function=send, signature=SIGNATURE)
    spec.__dict__["_plain"] = NO_PLAIN_CALLS
    spec.__dict__["_max_payload_bytes"] = 1000
    try:
        return spec.bind(args, kwargs)
    except (InvalidArguments, InvalidPayload):
        return None


@given(st.lists(values, max_size=5).map(tuple), st.dictionaries(names, values, max_size=5))
@example(("ada", 2), {})
@example((), {"to": "ada", "times": 10**18, "is_urgent": True, "note": None})
@example(("ada", 2**63), {})
@example(("\0", 1), {})
def test_what_is_bound_quickly_is_bound_alike_by_a_closer_look(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    text = quick.one(args, kwargs)

    assert text is None or text == thorough(args, kwargs)


@given(st.tuples(st.text("abc", max_size=20), st.integers(-(10**17), 10**17), st.booleans()))
def test_plain_calls_need_no_closer_look(args: tuple[str, int, bool]) -> None:
    assert quick.one(args, {}) == thorough(args, {}) is not None
    assert quick.one((), {"to": args[0], "times": args[1]}) is not None


@given(st.lists(plain | st.dictionaries(names, values, max_size=3), max_size=3))
@example([{"to": "a\nb", "times": 1}, {"to": "c", "times": 2}])
@example([{"to": "a\u2028b", "times": 1}, {"to": "\x85", "times": 2}])
@example([{"to": "a", "times": 10**18}, {"to": "b", "times": 2**63}])
@example([{"to": "x" * 990, "times": 1}])
def test_what_is_bound_together_is_bound_alike_one_by_one(calls: list[dict[str, Any]]) -> None:
    texts = quick.many(calls)

    assert texts is None or texts == [thorough((), call) for call in calls]


@given(st.lists(plain, min_size=1, max_size=4))
def test_plain_calls_by_name_are_bound_together(calls: list[dict[str, Any]]) -> None:
    assert quick.many(calls) == [quick.one((), call) for call in calls]


@pytest.mark.parametrize(
    "calls", [[], [("ada", 1)], ["to"], [{"to": "ada", "times": 1}, None], [{7: "ada", "times": 1}]], ids=str
)
def test_what_is_no_mapping_by_name_needs_a_closer_look(calls: list[Any]) -> None:
    assert quick.many(calls) is None
