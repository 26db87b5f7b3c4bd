"""Who may start under limits: properties of the one decision that every limited claim takes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from backstay.model.job import JobId
from backstay.model.limits.admission import Candidate, Usage, decide, next_token, spend, tokens
from backstay.model.limits.declared import Bound

AT = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def _candidate(number: int, *bounds: Bound, kind: str = "k", is_next: bool = True) -> Candidate:
    return Candidate(JobId(UUID(int=number)), "q", kind, bounds, is_next)


def _none_used(*bounds: Bound) -> dict[str, Usage]:
    return {bound.key: Usage(0, AT) for bound in bounds}


def test_jobs_start_in_order_and_the_next_ones_wait_for_the_full_key() -> None:
    key = Bound("key a", 2)

    decision = decide([_candidate(n, key) for n in range(4)], {"key a": Usage(1, AT)}, at=AT, room=10)

    assert [one.id.int for one in decision.starts] == [0]
    assert [(one.id.int, one.key) for one in decision.parks] == [(1, "key a"), (2, "key a"), (3, "key a")]
    assert "full (2 at a time)" in decision.parks[0].reason


def test_what_is_full_for_a_whole_kind_puts_no_job_aside() -> None:
    shared, other = Bound("kind k", 1, is_shared=True), Bound("kind l", 1, is_shared=True)
    line = [_candidate(1, shared), _candidate(2, shared), _candidate(3, other, kind="l")]

    decision = decide(line, _none_used(shared, other), at=AT, room=10)

    assert [one.id.int for one in decision.starts] == [1, 3]
    assert (decision.parks, decision.full) == ([], {("q", "k"): None})


def test_without_a_slot_a_job_is_left_and_its_permit_not_taken() -> None:
    key = Bound("key a", 5)

    decision = decide([_candidate(1, key), _candidate(2, key)], _none_used(key), at=AT, room=1)

    assert ([one.id.int for one in decision.starts], [one.id.int for one in decision.left]) == ([1], [2])


def test_a_job_behind_an_older_one_of_its_key_waits_even_when_nothing_runs() -> None:
    order = Bound("order a", 1, is_ordered=True)

    decision = decide([_candidate(2, order, is_next=False)], _none_used(order), at=AT, room=1)

    assert (decision.starts, decision.parks[0].reason) == ([], "limit: an older job of order a comes first")


def test_a_rate_says_when_the_next_token_comes() -> None:
    shared, keyed = Bound("rate kind k", 2, SECOND, is_shared=True), Bound("rate key a", 1, SECOND)

    whole = decide([_candidate(n, shared) for n in range(3)], _none_used(shared), at=AT, room=9)
    single = decide([_candidate(n, keyed) for n in range(2)], _none_used(keyed), at=AT, room=9)

    assert (len(whole.starts), whole.full) == (2, {("q", "k"): SECOND})
    assert (len(single.starts), single.parks[0].due) == (1, AT + SECOND)
    assert single.spent == {"rate key a": AT + SECOND}


def test_a_clock_that_was_set_back_costs_one_bucket_and_no_more() -> None:
    far_ahead = AT + timedelta(hours=1)

    assert (tokens(3, SECOND, far_ahead, AT), next_token(3, SECOND, far_ahead, AT)) == (0, SECOND)


@given(
    st.lists(st.lists(st.sampled_from(range(3)), max_size=3, unique=True), max_size=20),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
    st.lists(st.integers(0, 6), min_size=3, max_size=3),
    st.integers(0, 10),
)
def test_no_limit_is_ever_exceeded_and_every_job_has_one_fate(
    jobs: list[list[int]], sizes: list[int], used: list[int], room: int
) -> None:
    limits = [Bound(f"key {n}", size) for n, size in enumerate(sizes)]
    line = [_candidate(n, *(limits[at] for at in under)) for n, under in enumerate(jobs)]

    decision = decide(
        line, {bound.key: Usage(used[n], AT) for n, bound in enumerate(limits)}, at=AT, room=room
    )

    started = Counter(bound.key for one in decision.starts for bound in one.bounds)
    for bound, before in zip(limits, used, strict=True):
        assert started[bound.key] == 0 or before + started[bound.key] <= bound.most
    fates = [one.id for group in (decision.starts, decision.parks, decision.left) for one in group]
    assert sorted(fates) == [one.id for one in line]
    assert len(decision.starts) <= room


@given(
    st.integers(1, 5),
    st.integers(1, 1_000_000),
    st.lists(st.integers(0, 3_000_000), min_size=1, max_size=60),
)
def test_no_stretch_of_time_has_more_starts_than_rate_and_burst(
    burst: int, every: int, waits: list[int]
) -> None:
    step, at, spent = timedelta(microseconds=every), AT, AT
    starts: list[datetime] = []
    for wait in waits:
        at += timedelta(microseconds=wait)
        while tokens(burst, step, spent, at):
            spent = spend(step, spent, at, most=burst)
            starts.append(at)

    for first in range(len(starts)):
        for last in range(first, len(starts)):
            window = starts[last] - starts[first]
            assert last - first + 1 <= window / step + burst
    assert all(one <= other for one, other in pairwise(starts))


@given(st.integers(1, 5), st.integers(1, 10_000), st.integers(0, 60_000))
def test_a_token_is_there_exactly_when_it_was_said_to_come(burst: int, every: int, ahead: int) -> None:
    step, spent = timedelta(microseconds=every), AT + timedelta(microseconds=min(ahead, burst * every))

    wait = next_token(burst, step, spent, AT)

    assert tokens(burst, step, spent, AT + wait) >= 1
    assert wait == timedelta(0) or tokens(burst, step, spent, AT + wait - timedelta(microseconds=1)) == 0
