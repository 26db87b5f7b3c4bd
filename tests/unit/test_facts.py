"""The facts of an error are kept plain, small and without secrets, whatever they are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay import Hopeless, Retry
from backstay.model.classify import classify
from backstay.model.text.error_facts import LEFT_OUT, MAX_BYTES, details_of, facts


class Colour(Enum):
    RED = "red"


def test_plain_values_stay_and_others_become_texts() -> None:
    found = facts(
        {
            "page": 7,
            "part": 0.5,
            "is_last": False,
            "nothing": None,
            "at": datetime(2027, 1, 2, tzinfo=UTC),
            "price": Decimal("1.10"),
            "colour": Colour.RED,
            "pages": (1, 2),
            "model": {"name": "small", 3: object()},
            "huge": 2**70,
            "endless": float("inf"),
        }
    )

    assert found == {
        "page": 7,
        "part": 0.5,
        "is_last": False,
        "nothing": None,
        "at": "2027-01-02 00:00:00+00:00",
        "price": "1.10",
        "colour": "red",
        "pages": [1, 2],
        "model": {"name": "small", "3": "<object>"},
        "huge": str(2**70),
        "endless": "inf",
    }


def test_what_looks_like_a_secret_is_hidden() -> None:
    found = facts({"api_key": "abc", "url": "https://me:pw@host/", "max_tokens": 5, "args": {"card": 1}})

    assert found == {"api_key": "***", "url": "https://me:***@host/", "max_tokens": 5, "args": "***"}


def test_what_is_too_much_is_left_out_and_counted() -> None:
    assert facts({str(n): n for n in range(60)})[LEFT_OUT] == "10 more"
    assert len(facts({str(n): "x" * 900 for n in range(20)})) < 12


class Odd(Exception):
    @property
    def details(self) -> dict[str, Any]:
        raise RuntimeError("no")


@pytest.mark.parametrize("error", [ValueError("no"), Odd()])
def test_an_error_without_details_has_no_facts(error: Exception) -> None:
    assert details_of(error) == {}


@pytest.mark.parametrize("error", [Hopeless("no", details={"page": 7}), Retry(details={"page": 7})])
def test_endings_of_an_attempt_take_details(error: Exception) -> None:
    assert details_of(error) == {"page": 7}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=50,
)


@given(st.dictionaries(st.text() | st.integers(), anything))
def test_whatever_the_facts_are_they_can_be_stored(given_facts: dict[Any, Any]) -> None:
    text = json.dumps(facts(given_facts), allow_nan=False, ensure_ascii=False)

    assert len(text.encode()) < MAX_BYTES + 200
    assert "\x00" not in text


class Coded(Exception):
    code = "SNAPSHOT_NOT_READY"


def test_the_code_of_the_cause_is_told_and_does_not_judge() -> None:
    timed = TimeoutError("late")
    timed.code = "ETIMEDOUT"  # type: ignore[attr-defined]  # as some libraries do
    error = ValueError("no")
    error.__cause__ = RuntimeError("between")
    error.__cause__.__cause__ = timed
    own = Coded()
    own.__cause__ = timed

    assert (classify(error).code, classify(error).error_class) == ("ETIMEDOUT", "unknown")
    assert classify(own).code == "SNAPSHOT_NOT_READY"
