"""Limits as they are declared: what can be a limit, a rate and a key, and what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.errors import InvalidSettings
from backstay.model.limits.declared import (
    Bound,
    KindLimits,
    Limit,
    Rate,
    declared,
    key_problem,
    pair_limits,
    queue_limits,
    refuse_unknown,
)
from backstay.model.limits.keys import LONGEST_KEY, KeyProblem, bounded, filled


@pytest.mark.parametrize("number", [0, -1, True, "3", 1.5, None, 1_000_001])
def test_a_limit_is_a_whole_number_above_zero(number: object) -> None:
    with pytest.raises(InvalidSettings, match="whole number from 1 to 1,000,000; to stop"):
        Limit(number)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("rate", ["", "0/s", "5", "5/", "/s", "-1/s", "5/0s", "5/y", "1/32d", 5, "5/s/s"])
def test_a_rate_is_a_number_of_starts_and_a_time(rate: object) -> None:
    with pytest.raises(InvalidSettings, match="rate cannot be"):
        Rate(rate)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("rate", "every"),
    [
        ("100/m", timedelta(milliseconds=600)),
        ("5/s", timedelta(milliseconds=200)),
        ("1/10s", timedelta(seconds=10)),
        ("3/s", timedelta(microseconds=333_334)),
    ],
)
def test_a_rate_gives_a_token_every_so_often_and_never_sooner(rate: str, every: timedelta) -> None:
    assert Rate(rate).every == every


@pytest.mark.parametrize(
    "template",
    ["", "customer", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>5}", "{a", "a}", "x" * 300, "tab\t{a}", 7],
)
def test_a_key_names_arguments_in_braces_and_nothing_else(template: object) -> None:
    with pytest.raises(InvalidSettings, match="the key of limit cannot be"):
        Limit(1, key=template)  # type: ignore[arg-type]  # wrong on purpose


def test_a_key_of_an_argument_that_the_handler_does_not_take_is_refused() -> None:
    limits = declared("send", {"limit": Limit(3, key="customer:{customer}")})

    with pytest.raises(InvalidSettings, match=r"takes no argument 'customer', only customer_id, text"):
        refuse_unknown("send", limits, ["customer_id", "text"], {})


def test_a_key_of_an_argument_with_a_default_is_refused() -> None:
    limits = declared("send", {"ordered_by": "{customer}"})

    with pytest.raises(InvalidSettings, match="has a default"):
        refuse_unknown("send", limits, ["customer"], {"customer": 1})


def test_the_tenant_can_be_part_of_a_key_without_being_an_argument() -> None:
    limits = declared("send", {"limit": Limit(3, key="{tenant}:{customer}")})

    refuse_unknown("send", limits, ["customer"], {})

    assert filled("{tenant}:{customer}", {"customer": 7}, "acme") == "acme:7"


@pytest.mark.parametrize(
    "given",
    [
        {"limit": [Limit(1, key="{a}"), Limit(2, key="{b}")]},
        {"limit": [1, 2]},
        {"rate": ["1/s", "2/m"]},
        {"on_retry": "yield"},
        {"ordered_by": "{a}", "on_retry": "wait"},
        {"on_uncertain_lease": "hope"},
    ],
)
def test_what_does_not_fit_together_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidSettings):
        declared("send", given)


def test_a_kind_can_have_a_limit_for_all_and_one_for_each_key() -> None:
    limits = declared("send", {"limit": [10, Limit(3, key="c:{c}")], "rate": "100/m", "ordered_by": "o:{c}"})

    bounds = pair_limits(
        "mail", "send", limits, queue_limits("mail", limit=20, rate=None, per_worker=None), 50
    )

    assert [bound.key for bound in bounds.of({"c": 7}, "")] == [
        "all",
        "queue mail",
        "kind send",
        "rate kind send",
        "key c:7",
        "order o:7",
    ]


def test_a_job_whose_arguments_cannot_fill_a_key_is_under_what_it_shares() -> None:
    limits = pair_limits("q", "k", KindLimits(limit=2, key_limit=Limit(1, key="{a}")), None, None)

    assert limits.of({"a": [1]}, "") == (Bound("kind k", 2, is_shared=True),)


@pytest.mark.parametrize("value", [None, 1.5, [1], {"a": 1}])
def test_only_text_numbers_and_booleans_are_part_of_a_key(value: object) -> None:
    with pytest.raises(KeyProblem):
        filled("{a}", {"a": value})


def test_a_key_that_is_too_long_is_named() -> None:
    problem = key_problem(KindLimits(key_limit=Limit(1, key="{a}")), {"a": "x" * 201})

    assert problem is not None
    assert (problem.field, "201 characters" in str(problem)) == ("a", True)


@given(st.text(), st.text())
def test_keys_stay_short_and_different_ones_stay_different(one: str, other: str) -> None:
    long_one, long_other = "x" * 250 + one, "x" * 250 + other

    assert len(bounded(long_one)) == LONGEST_KEY
    assert (bounded(long_one) == bounded(long_other)) == (one == other)


@pytest.mark.parametrize(
    ("given", "stops"),
    [
        ({}, False),
        ({"limit": 1}, False),
        ({"limit": Limit(1, key="{a}")}, True),
        ({"ordered_by": "{a}"}, True),
        ({"ordered_by": "{a}", "on_uncertain_lease": "continue"}, False),
        ({"on_uncertain_lease": "cancel"}, True),
    ],
)
def test_kinds_with_a_key_stop_when_their_lease_is_uncertain(given: dict[str, object], stops: bool) -> None:
    assert declared("k", given).stops_when_uncertain is stops
