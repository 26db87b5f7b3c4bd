"""The quick way that most calls become JSON takes none that the thorough one would refuse, and writes no other text."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from windlass.errors import InvalidArguments, InvalidPayload
from windlass.plain_calls import plain_calls
from windlass.registry import HandlerSpec
from windlass.signature import read_signature


def send(to: str, times: int, is_urgent: bool = False, note: str | None = None) -> None:
    """A handler of plain arguments."""


SIGNATURE = read_signature(send)
quick = plain_calls(SIGNATURE, limit_bytes=1000)

texts = st.text() | st.sampled_from(["\0", "\ud800", "\\u0000", '"', "1" * 30, "é" * 400, "x" * 900])
numbers = st.integers() | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**18, 10**19])
values = texts | numbers | st.booleans() | st.none() | st.floats() | st.lists(st.integers(), max_size=2)
names = st.sampled_from(["to", "times", "is_urgent", "note", "too"])


def thorough(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    spec = HandlerSpec(kind="send", function=send, signature=SIGNATURE)
    spec.__dict__["_plain"] = lambda args, kwargs: None
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
    text = quick(args, kwargs)

    assert text is None or text == thorough(args, kwargs)


@given(st.tuples(st.text("abc", max_size=20), st.integers(-(10**17), 10**17), st.booleans()))
def test_plain_calls_need_no_closer_look(args: tuple[str, int, bool]) -> None:
    assert quick(args, {}) == thorough(args, {}) is not None
    assert quick((), {"to": args[0], "times": args[1]}) is not None
