"""Layers of numbers become one policy, and survive being stored."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import AEON, ALL

from backstay.errors import InvalidPolicy
from backstay.model.backoff import Backoff
from backstay.model.policy.policy import (
    ClassRule,
    Policy,
    PolicyChange,
    PolicyFields,
    change,
    duration,
    for_error,
    for_job,
    from_json,
    merge,
    resolve,
    to_json,
)
from backstay.model.policy.profile import Profile

lengths = st.timedeltas(timedelta(milliseconds=10), timedelta(days=36_500))
attempts = st.integers(1, 1000)
backoffs = st.builds(
    Backoff,
    st.timedeltas(timedelta(0), timedelta(seconds=9)),
    multiplier=st.floats(1, 9),
    jitter=st.floats(0, 1),
)
class_rules = st.builds(ClassRule, st.booleans(), st.none() | attempts, st.none() | backoffs)
layers = st.fixed_dictionaries(
    {},
    optional={
        "max_attempts": attempts,
        "backoff": backoffs,
        "lease": lengths,
        "timeout": lengths,
        "priority": st.integers(1, 10),
        "timeout_growth": st.floats(1, 10),
        "retry_unknown": st.booleans(),
        "classes": st.dictionaries(st.sampled_from(["timeout", "unknown", "own_class"]), class_rules),
    },
).map(PolicyChange)
short = st.timedeltas(timedelta(milliseconds=10), timedelta(hours=1))
safe_layers = st.fixed_dictionaries(
    {}, optional={"max_attempts": attempts, "lease": short, "timeout": short, "backoff": backoffs}
).map(PolicyChange)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(hours=1, minutes=30)),
        ("1h 30m", timedelta(hours=1, minutes=30)),
        ("1.5h", timedelta(hours=1, minutes=30)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(days=14)),
        (0, timedelta(0)),
        (2.5, timedelta(seconds=2.5)),
        (timedelta(minutes=1), timedelta(minutes=1)),
    ],
)
def test_durations_can_be_written_as_people_say_them(written: object, read: timedelta) -> None:
    assert duration(written) == read


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        "30",
        "s",
        "-5s",
        "5 parsecs",
        "1h-30m",
        True,
        None,
        -1,
        float("nan"),
        float("inf"),
        10**400,
        [],
        timedelta(seconds=-1),
        timedelta.max,
        "9" * 500 + "d",
        1e308,
    ],
)
def test_what_is_not_a_duration_is_refused_with_its_field(written: object) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        duration(written, field="timeout")

    assert refusal.value.field == "timeout"


def test_a_policy_needs_no_numbers() -> None:
    policy = resolve()

    assert policy == Policy()
    assert (policy.max_attempts, policy.lease, policy.timeout) == (
        4,
        timedelta(seconds=60),
        timedelta(seconds=300),
    )


def test_later_layers_win_field_by_field() -> None:
    profile, queue, kind = change(max_attempts=2, timeout="1m"), change(timeout="2m"), change(priority=1)

    policy = resolve(profile, queue, kind)

    assert (policy.max_attempts, policy.timeout, policy.priority) == (2, timedelta(minutes=2), 1)


def test_the_error_class_outranks_the_kind_and_the_job_outranks_the_error_class() -> None:
    """ENG-047, ENG-052: default, profile, queue, kind, error class, job."""
    profile = change(classes={"rate_limit": ClassRule(max_attempts=9, backoff=Backoff("60s"))})
    kind, job = change(max_attempts=3), change(max_attempts=2)

    assert for_error(resolve(profile, kind), "timeout").max_attempts == 3
    assert for_error(resolve(profile, kind), "rate_limit").max_attempts == 9
    assert for_error(resolve(profile, kind, job=job), "rate_limit").max_attempts == 2
    assert for_error(resolve(profile, kind, job=job), "rate_limit").backoff == Backoff("60s")


def test_a_job_may_bring_its_own_rule_for_a_class() -> None:
    job = change(max_attempts=2, classes={"rate_limit": ClassRule(max_attempts=7)})

    policy = for_job(resolve(AEON.policy), job)

    assert for_error(policy, "rate_limit").max_attempts == 7
    assert for_error(policy, "transient_network").max_attempts == 2


def test_no_class_touches_a_kinds_own_attempts_by_default() -> None:
    kind = resolve(change(max_attempts=7, backoff=Backoff("9s")))

    for error_class in ("transient_network", "rate_limit", "timeout", "database_error", "unknown"):
        assert for_error(kind, error_class) == kind
        assert kind.rule_for(error_class).retry


@pytest.mark.parametrize(
    ("error_class", "attempts", "first", "second"),
    [
        ("transient_network", 6, 2, 4),
        ("rate_limit", 4, 60, 90),
        ("temporary_resource", 4, 0, 0),
        ("timeout", 3, 1, 2),
        ("internal_error", 3, 5, 10),
        ("database_error", 6, 1, 2),
        ("unknown", 3, 5, 10),
    ],
)
def test_a_profile_gives_each_class_its_own_numbers(
    error_class: str, attempts: int, first: float, second: float
) -> None:
    """ENG-047."""
    policy = for_error(resolve(AEON.policy), error_class)

    assert policy.max_attempts == attempts
    assert [policy.backoff.delay(retry, 0.5).total_seconds() for retry in (1, 2)] == [first, second]


@pytest.mark.parametrize(
    "error_class",
    [
        "validation_error",
        "authentication_error",
        "not_found",
        "permission_denied",
        "invalid_input",
        "result_invalid",
    ],
)
@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_some_classes_are_never_retried(profile: Profile, error_class: str) -> None:
    """ENG-047, ENG-049."""
    assert not resolve(profile.policy).rule_for(error_class).retry


def test_unknown_errors_are_retried_only_where_the_policy_says_so() -> None:
    """ENG-050."""
    retried = {profile.name: resolve(profile.policy).rule_for("unknown").retry for profile in ALL}

    assert retried == {"oblicore": False, "aeon": True, "passport": False, "watchpoint": True, "exora": True}


def test_class_rules_merge_field_by_field() -> None:
    below = change(classes={"timeout": ClassRule(max_attempts=3, backoff=Backoff("9s"))})
    above = change(classes={"timeout": ClassRule(max_attempts=2)})

    rule = resolve(below, above).rule_for("timeout")

    assert (rule.max_attempts, rule.backoff) == (2, Backoff("9s"))
    assert not resolve(below, above).rule_for("not_found").retry


def test_a_lease_set_alone_is_renewed_three_times() -> None:
    assert resolve(change(lease="3s")).renew_every == timedelta(seconds=1)
    assert resolve(change(lease="3s", renew_every="1500ms")).renew_every == timedelta(milliseconds=1500)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": 1001}, "max_attempts"),
        ({"max_attempts": True}, "max_attempts"),
        ({"max_attempts": 3.0}, "max_attempts"),
        ({"priority": 11}, "priority"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": None}, "timeout"),
        ({"timeout_growth": 0.9}, "timeout_growth"),
        ({"cancel_running": 1}, "cancel_running"),
        ({"backoff": 2}, "backoff"),
        ({"classes": {"timeout": 3}}, "classes.timeout"),
        ({"classes": {"time out": ClassRule()}}, "classes"),
        ({"classes": [1]}, "classes"),
        ({"keep_resolved": "soon"}, "keep_resolved"),
    ],
)
def test_a_bad_value_is_refused_by_name(values: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        PolicyChange(values)

    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("values", "field"),
    [({"lease": "10s", "renew_every": "6s"}, "renew_every"), ({"timeout": "2h"}, "timeout")],
)
def test_numbers_that_do_not_fit_together_are_refused(values: dict[str, Any], field: str) -> None:
    """ENG-034, ENG-099."""
    with pytest.raises(InvalidPolicy) as refusal:
        resolve(PolicyChange(values))

    assert refusal.value.field == field


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidPolicy, match=r"retries cannot be 3: .*max_attempts.*timeout"):
        PolicyChange({"retries": 3})


def test_every_field_can_be_changed_by_keyword() -> None:
    assert {known.name for known in fields(Policy)} == set(PolicyFields.__annotations__)
    assert set(PolicyChange.of(Policy()).fields) == set(PolicyFields.__annotations__)


def test_the_keys_the_claim_reads_are_stored_by_these_names() -> None:
    stored = json.loads(to_json(change(max_attempts=2, timeout="1m30s", lease="1500ms")) or "")

    assert stored["max_attempts"] == 2
    assert stored["timeout_seconds"] == 90
    assert stored["lease_seconds"] == 1.5


def test_a_layer_that_changes_nothing_is_not_stored() -> None:
    assert to_json(change()) is None
    assert to_json(None) is None
    assert from_json(None) == change()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", "policy"),
        ("[]", "policy"),
        ("[" * 100_000, "policy"),
        ('{"timeout": 3}', "timeout"),
        ('{"timeout_seconds": NaN}', "timeout"),
        ('{"backoff": {"base": 3}}', "backoff.base"),
        ('{"backoff": 3}', "backoff"),
        ('{"classes": {"timeout": 3}}', "classes.timeout"),
        ('{"classes": {"timeout": {"tries": 3}}}', "classes.timeout.tries"),
        ('{"classes": {"timeout": {"max_attempts": 0}}}', "max_attempts"),
    ],
)
def test_stored_nonsense_is_refused_by_name(text: str, field: str) -> None:
    with pytest.raises(InvalidPolicy) as refusal:
        from_json(text)

    assert refusal.value.field == field


@given(layers)
def test_a_stored_layer_comes_back_unchanged(layer: PolicyChange) -> None:
    assert from_json(to_json(layer)) == layer


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_a_whole_policy_can_be_stored_as_one_layer(profile: Profile) -> None:
    policy = resolve(profile.policy)

    assert resolve(from_json(to_json(PolicyChange.of(policy)))) == policy


@given(layers, layers, layers)
def test_it_does_not_matter_which_layers_are_merged_first(
    one: PolicyChange, two: PolicyChange, three: PolicyChange
) -> None:
    assert merge(merge(one, two), three) == merge(one, merge(two, three)) == merge(one, two, three)


@given(st.lists(safe_layers, max_size=4), safe_layers)
def test_the_last_layer_has_the_last_word(below: list[PolicyChange], last: PolicyChange) -> None:
    policy = resolve(*below, last)

    assert {name: getattr(policy, name) for name in last.fields} == last.fields
