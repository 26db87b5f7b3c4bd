"""What a job waits for, and what becomes of it: the rules alone."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.errors import InvalidFlow
from backstay.model import flows
from backstay.model.flows import (
    Condition,
    Dependency,
    DependencyType,
    OnFailure,
    Verdict,
    decide,
    fill,
    find,
    holds,
)
from backstay.model.job import JobId
from backstay.model.states import FINAL, State

CHILD, PARENT = JobId(UUID(int=2)), JobId(UUID(int=1))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


def depends(**facts: Any) -> Dependency:
    return Dependency(job_id=CHILD, parent_id=PARENT, **facts)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("policy", OnFailure)
def test_a_job_goes_on_only_when_its_parent_has_completed(state: State, policy: OnFailure) -> None:
    verdict = decide(depends(on_failure=policy), state)

    match state:
        case State.COMPLETED:
            assert verdict is Verdict.MET
        case State.CANCELLED | State.RESOLVED:
            assert verdict is Verdict(policy.value)
        case State.DEAD:
            assert verdict is (Verdict.RUN if policy is OnFailure.RUN else None)
        case _:
            assert verdict is None


@pytest.mark.parametrize("state", State)
def test_who_waits_for_the_end_goes_on_however_it_ended(state: State) -> None:
    verdict = decide(depends(type=DependencyType.COMPLETION), state)

    assert (verdict is Verdict.MET) is (state in FINAL or state is State.DEAD)


def test_a_branch_not_taken_is_cancelled_whatever_the_policy() -> None:
    for policy in OnFailure:
        branch = depends(
            type=DependencyType.CONDITIONAL, condition=Condition("/score", ">", 5), on_failure=policy
        )

        assert decide(branch, State.COMPLETED, {"score": 6}) is Verdict.MET
        assert decide(branch, State.COMPLETED, {"score": 5}) is Verdict.CANCEL
        assert decide(branch, State.COMPLETED, None) is Verdict.CANCEL


@pytest.mark.parametrize(
    ("condition", "result", "expected"),
    [
        (("", "==", 3), 3, True),
        (("", "==", True), 1, False),
        (("", "!=", 1), True, True),
        (("/a", "!=", 1), {}, False),
        (("/a/0", "<=", 2), {"a": [2]}, True),
        (("/a", "<", "b"), {"a": "a"}, True),
        (("/a", "<", 1), {"a": "a"}, False),
        (("/a", ">", None), {"a": None}, False),
        (("/a", "in", ["x", "y"]), {"a": "y"}, True),
        (("/a", "contains", "y"), {"a": ["x", "y"]}, True),
        (("/a", "contains", 1), {"a": [True]}, False),
        (("/a", "exists"), {"a": None}, True),
        (("/a", "exists", False), {"b": 1}, True),
        (("/a~1b", "==", 1), {"a/b": 1}, True),
    ],
)
def test_a_condition_compares_values_of_the_same_type(
    condition: tuple[Any, ...], result: Any, expected: bool
) -> None:
    assert holds(Condition(*condition), result) is expected


@given(JSON, JSON)
def test_a_condition_is_never_an_error(result: Any, value: Any) -> None:
    for operator in flows.OPERATORS:
        assert holds(Condition("", operator, value), result) in (True, False)


@given(st.lists(st.text(max_size=4) | st.integers(0, 99), min_size=1, max_size=4), JSON)
def test_what_is_put_at_a_place_is_found_there(path: list[str | int], value: Any) -> None:
    document: Any = None
    for part in reversed(path):
        document = {str(part): document}
    place = flows.pointer_of(path)

    filled = fill(document, [(place, value)])

    assert find(filled, place) == value


def test_a_place_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidFlow, match=r"no place /pages/2"):
        fill({"pages": [None, None]}, [("/pages/2", 1)])


@given(st.dictionaries(st.integers(0, 30), st.sets(st.integers(0, 30), max_size=5), max_size=30))
def test_the_order_is_right_or_the_circle_is_named(drawn: dict[int, set[int]]) -> None:
    parents = {str(name): {str(one) for one in needed if one in drawn} for name, needed in drawn.items()}

    try:
        ordered = flows.in_order(parents)
    except InvalidFlow as error:
        if "itself" not in str(error):
            named = [part.strip("'") for part in str(error).split("circle, ")[1].split(":")[0].split(" → ")]
            assert named[0] == named[-1]
            assert all(before in parents[after] for before, after in itertools.pairwise(named))
        return
    place = {name: at for at, name in enumerate(ordered)}
    assert sorted(ordered) == sorted(parents)
    assert all(place[parent] < place[name] for name, needed in parents.items() for parent in needed)


def test_what_cannot_be_a_flow_is_refused_with_its_names() -> None:
    with pytest.raises(InvalidFlow, match=r"'a' cannot wait for itself"):
        flows.in_order({"a": ["a"]})
    with pytest.raises(InvalidFlow, match=r"in a circle, 'a' → 'c' → 'b' → 'a'|in a circle, '(b|c)' → "):
        flows.in_order({"a": ["b"], "b": ["c"], "c": ["a"]})
    with pytest.raises(InvalidFlow, match=r"'a' waits for 'z', which is not part of the flow"):
        flows.in_order({"a": ["z"]})
    with pytest.raises(InvalidFlow, match="cannot wait for itself"):
        Dependency(job_id=CHILD, parent_id=CHILD)
    with pytest.raises(InvalidFlow, match="needs a place"):
        depends(type=DependencyType.DATA)
    with pytest.raises(InvalidFlow, match="needs a condition"):
        depends(type=DependencyType.CONDITIONAL)
    with pytest.raises(InvalidFlow, match="'=~' is not known"):
        Condition("/a", "=~", 1)
    with pytest.raises(InvalidFlow, match="no JSON pointer"):
        Condition("a", "==", 1)


def test_a_job_has_at_most_a_thousand_parents() -> None:
    many = [Dependency(job_id=CHILD, parent_id=JobId(UUID(int=number + 10))) for number in range(10_001)]

    flows.check_sizes(1001, many[:1000])
    with pytest.raises(InvalidFlow, match=r"has 10,001 parents, the limit is 1,000: gather them in groups"):
        flows.check_sizes(10_000, many)
    with pytest.raises(InvalidFlow, match=r"has 10,001 jobs, the limit is 10,000"):
        flows.check_sizes(10_001, [])
