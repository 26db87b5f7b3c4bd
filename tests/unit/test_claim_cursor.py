"""Where claims begin to look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.model.job import Claim, JobId
from backstay.model.records import Wanted
from backstay.worker.fetch.claim_cursor import (
    EVERYWHERE_EVERY,
    EVERYWHERE_IN_COMPANY,
    MOST_TAKEN,
    PASSED_OVER,
    ClaimCursor,
)

PAIRS = (Wanted("default", "report", timedelta(minutes=1), timedelta(minutes=5), 4),)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def claims(number: int, *, suspect_at: int | None = None, after: float = 0.0) -> list[Claim]:
    """Claims of jobs whose turns are a second apart, the first so many seconds after noon."""
    return [
        Claim(
            id=JobId(UUID(int=n)),
            epoch=1,
            kind="report",
            queue="default",
            args="{}",
            attempt=1,
            max_attempts=4,
            run=1,
            crashes=0,
            is_suspect=n == suspect_at,
            timeout=timedelta(minutes=5),
            lease=timedelta(minutes=1),
            turn_microseconds=int((NOON + timedelta(seconds=after + n)).timestamp() * 1_000_000),
        )
        for n in range(number)
    ]


def noted(
    claimed: list[Claim], *, limit: int, since: datetime | None = None, took: float = 0.01
) -> ClaimCursor:
    claim_cursor = ClaimCursor()
    claim_cursor.note(claimed, limit=limit, since=since, took=took, now=100.0)
    return claim_cursor


def test_the_first_claim_looks_everywhere() -> None:
    assert ClaimCursor().since(PAIRS, 100.0) is None


def test_after_a_claim_that_got_everything_the_next_begins_at_its_last_job() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.99)
    claim_cursor.note(claims(3), limit=3, since=None, took=0.01, now=100.0)

    assert claim_cursor.since(PAIRS, 100.05) == NOON + timedelta(seconds=2)
    assert claim_cursor.since(PAIRS, 100.0 + EVERYWHERE_EVERY) is None


def test_a_suspect_says_nothing_about_the_line() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.99)
    claim_cursor.note(claims(4, suspect_at=3), limit=3, since=None, took=0.01, now=100.0)

    assert claim_cursor.since(PAIRS, 100.05) == NOON + timedelta(seconds=2)


def test_a_look_everywhere_that_took_long_is_not_repeated_soon() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.5)
    claim_cursor.note(claims(3), limit=3, since=None, took=0.5, now=100.0)

    assert claim_cursor.since(PAIRS, 101.9) is not None
    assert claim_cursor.since(PAIRS, 102.0) is None


def test_a_claim_that_came_back_with_less_is_followed_by_a_look_everywhere_soon() -> None:
    short = noted(claims(2), limit=3, since=NOON)

    assert short.owed_at == 100.0 + EVERYWHERE_EVERY
    assert short.since(PAIRS, 100.0) is None


def test_a_claim_that_came_back_with_nothing_is_followed_by_a_look_everywhere_at_once() -> None:
    assert noted([], limit=3, since=NOON).owed_at == 100.0


def test_after_a_look_everywhere_or_a_claim_that_got_everything_nothing_is_owed() -> None:
    assert noted(claims(2), limit=3).owed_at == inf
    assert noted(claims(3), limit=3, since=NOON).owed_at == inf


def test_what_was_passed_over_is_not_forgotten_for_another_claim() -> None:
    claim_cursor = noted(claims(2), limit=3, since=NOON)

    claim_cursor.note(claims(1), limit=3, since=None, took=0.01, now=100.0)

    assert claim_cursor.owed_at == 100.0 + EVERYWHERE_EVERY


def test_when_all_are_taken_a_hint_is_followed_behind_the_last_and_whatever_else_everywhere() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.99)
    claim_cursor.note(claims(2), limit=3, since=None, took=0.01, now=100.0)

    assert claim_cursor.since(PAIRS, 500.0, is_hinted=True) == NOON + timedelta(seconds=1)
    assert claim_cursor.since(PAIRS, 500.0) is None


def test_a_look_that_took_nothing_keeps_the_place() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.99)
    claim_cursor.note(claims(2), limit=3, since=None, took=0.01, now=100.0)
    claim_cursor.note([], limit=3, since=None, took=0.01, now=101.0)

    assert claim_cursor.since(PAIRS, 500.0, is_hinted=True) == NOON + timedelta(seconds=1)


def test_hints_in_a_row_do_not_put_off_the_look_everywhere() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.99)
    claim_cursor.note(claims(1), limit=3, since=None, took=0.01, now=100.0)
    claim_cursor.note(claims(1), limit=3, since=NOON, took=0.01, now=200.0)
    claim_cursor.note(claims(1), limit=3, since=NOON, took=0.01, now=200.05)

    assert claim_cursor.since(PAIRS, 200.09, is_hinted=True) is not None
    assert claim_cursor.since(PAIRS, 200.0 + EVERYWHERE_EVERY, is_hinted=True) is None


def test_other_pairs_are_looked_for_everywhere() -> None:
    claim_cursor = ClaimCursor()
    claim_cursor.since(PAIRS, 99.99)
    claim_cursor.note(claims(3), limit=3, since=None, took=0.01, now=100.0)

    assert claim_cursor.since((*PAIRS, *PAIRS), 100.05) is None
    assert claim_cursor.since((*PAIRS, *PAIRS), 100.05, is_hinted=True) is None


def test_a_hint_is_followed_by_itself_only_when_all_there_was_is_taken() -> None:
    assert ClaimCursor().is_caught_up(100.0)
    assert noted(claims(2), limit=3).is_caught_up(100.0)
    assert not noted(claims(3), limit=3).is_caught_up(100.0)


def test_hints_that_are_followed_by_themselves_do_not_put_off_the_look_everywhere() -> None:
    followed = noted(claims(1), limit=3, since=NOON)

    assert followed.is_caught_up(100.09)
    assert not followed.is_caught_up(100.0 + EVERYWHERE_EVERY)
    assert not noted([], limit=3, since=NOON).is_caught_up(100.0)


def test_what_a_hint_named_is_looked_for_behind_the_last_job_of_any_pair() -> None:
    assert ClaimCursor().behind_the_last() < NOON - timedelta(days=9999)
    assert noted(claims(2), limit=3).behind_the_last() == NOON + timedelta(seconds=1)


def working(*firsts: float, has_competitors: bool = True) -> tuple[ClaimCursor, float]:
    """Has taken ten jobs at a time, the first of each so many seconds after noon; and the time it is then."""
    claim_cursor, now = ClaimCursor(), 100.0
    claim_cursor.has_competitors = has_competitors
    for first in firsts:
        since = claim_cursor.since(PAIRS, now)
        claim_cursor.note(claims(10, after=first), limit=10, since=since, took=0.01, now=now + 0.01)
        now += 0.02
    return claim_cursor, now


def passed_over(claim_cursor: ClaimCursor, now: float, *, last: float) -> float:
    """How many seconds behind its last job the next claim begins."""
    since = claim_cursor.since(PAIRS, now)
    assert since is not None
    return round((since - NOON).total_seconds() - last, 3)


def test_what_others_will_have_taken_by_then_is_passed_over() -> None:
    """Others took twenty, thirty and then ten seconds of the line from one claim to the next."""
    assert passed_over(*working(0, 29, 68, 87), last=96) == 10 * PASSED_OVER
    assert passed_over(*working(0, 10, 20, 30), last=39) == 0


def test_a_worker_by_itself_passes_nothing_over_whatever_its_line_looks_like() -> None:
    assert passed_over(*working(0, 29, 68, 87, has_competitors=False), last=96) == 0
    assert passed_over(*working(0, 10, 20, 14_400, has_competitors=False), last=14_409) == 0


def test_after_a_gap_in_the_line_a_little_is_passed_over_once() -> None:
    assert passed_over(*working(0, 14_400), last=14_409) == 9 * MOST_TAKEN * PASSED_OVER
    assert passed_over(*working(0, 14_400, 14_410), last=14_419) == 0


def test_uneven_distances_between_jobs_are_not_taken_for_others() -> None:
    assert passed_over(*working(0, 14, 27, 39), last=48) == 0


def test_others_are_not_thought_to_take_a_hundred_times_as_much() -> None:
    assert passed_over(*working(0, 7200, 14_400, 21_600), last=21_609) == round(
        9 * MOST_TAKEN * PASSED_OVER, 3
    )


def test_too_much_is_passed_over_less_and_less() -> None:
    claim_cursor, now = working(0, 109, 218, 327)
    last, passed = 336.0, []
    for _ in range(12):
        passed.append(passed_over(claim_cursor, now, last=last))
        since = NOON + timedelta(seconds=last + passed[-1])
        claim_cursor.note(claims(10, after=last + passed[-1]), limit=10, since=since, took=0.01, now=now)
        now, last = now + 0.001, last + passed[-1] + 9

    assert passed == sorted(passed, reverse=True)
    assert passed[-1] < passed[0] / 2


def test_what_was_passed_over_is_worked_off_before_anything_is_passed_over_again() -> None:
    claim_cursor, now = working(0, 29, 58, 87)

    claim_cursor.note(claims(10, after=10), limit=10, since=None, took=0.01, now=now)
    assert passed_over(claim_cursor, now + 0.01, last=19) == 0

    claim_cursor.note(claims(10, after=116), limit=10, since=NOON, took=0.01, now=now + 0.02)
    assert passed_over(claim_cursor, now + 0.03, last=125) > 0


def test_a_claim_that_passed_others_over_and_came_to_the_end_is_followed_by_a_look_everywhere_at_once() -> (
    None
):
    claim_cursor, now = working(0, 29, 58, 87)
    since = claim_cursor.since(PAIRS, now)
    claim_cursor.note(claims(2, after=120), limit=10, since=since, took=0.01, now=now)

    assert claim_cursor.owed_at == now


def test_what_others_took_is_forgotten_at_the_end_of_the_line() -> None:
    """Or each job that an idle worker hears of would cost it two looks at once."""
    claim_cursor, now = working(0, 29, 58, 87)
    claim_cursor.note(claims(2, after=120), limit=10, since=None, took=0.01, now=now)
    since = claim_cursor.since(PAIRS, 200.0, is_hinted=True)
    claim_cursor.note(claims(1, after=130), limit=10, since=since, took=0.01, now=200.01)

    assert since == NOON + timedelta(seconds=121)
    assert claim_cursor.owed_at == 200.01 + EVERYWHERE_EVERY


def test_several_workers_look_everywhere_less_often_each() -> None:
    (alone, now), (together, _) = working(0, 29, 58, 87, has_competitors=False), working(0, 29, 58, 87)
    for claim_cursor in (alone, together):
        claim_cursor.note(claims(10, after=116), limit=10, since=None, took=0.01, now=now)

    assert alone.since(PAIRS, now + EVERYWHERE_EVERY) is None
    assert together.since(PAIRS, now + EVERYWHERE_EVERY) is not None
    assert together.since(PAIRS, now + EVERYWHERE_IN_COMPANY) is None


def test_what_others_took_of_other_pairs_says_nothing() -> None:
    claim_cursor, now = working(0, 29, 58, 87)
    claim_cursor.since((*PAIRS, *PAIRS), now)
    claim_cursor.note(claims(10, after=100), limit=10, since=None, took=0.01, now=now)

    assert claim_cursor.since((*PAIRS, *PAIRS), now + 0.01) == NOON + timedelta(seconds=109)


def test_how_far_a_worker_was_with_other_pairs_says_nothing() -> None:
    claim_cursor, now = working(50_000, 50_010)
    others = (*PAIRS, *PAIRS)
    for number, first in enumerate((0, 29, 58, 87)):
        since = claim_cursor.since(others, now + number / 100)
        claim_cursor.note(claims(10, after=first), limit=10, since=since, took=0.01, now=now + number / 100)

    assert claim_cursor.since(others, now + 0.04) == NOON + timedelta(seconds=96 + 20 * PASSED_OVER)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-50, 5000), st.floats(0.001, 0.4)), max_size=30))
def test_a_worker_looks_everywhere_at_least_twice_a_second(steps: list[tuple[int, float, float]]) -> None:
    claim_cursor, now, looked_at = ClaimCursor(), 100.0, 0.0
    claim_cursor.has_competitors = True
    for number, after, pause in steps:
        since = claim_cursor.since(PAIRS, now)
        assert since is None or now - looked_at < EVERYWHERE_IN_COMPANY
        looked_at = now if since is None else looked_at
        claim_cursor.note(claims(number, after=after), limit=3, since=since, took=0.01, now=now)
        now += pause


@given(st.integers(1, 6), st.lists(st.integers(0, 200), min_size=40, max_size=120), st.randoms())
def test_workers_that_pass_each_other_over_leave_nobody_behind(
    workers: int, line: list[int], chance: Random
) -> None:
    """Each claims five of what is there, whenever it likes; what is left was looked for in vain by everybody."""
    waiting = dict(enumerate(sorted(line)))
    frontiers, now = [ClaimCursor() for _ in range(workers)], 100.0
    for claim_cursor in frontiers:
        claim_cursor.has_competitors = workers > 1
    for _ in range(20 * len(line)):
        if not waiting:
            return
        claim_cursor, now = chance.choice(frontiers), now + chance.choice((0.01, 0.05))
        since = claim_cursor.since(PAIRS, now)
        first = -1.0 if since is None else (since - NOON).total_seconds()
        taken = [number for number, turn in waiting.items() if turn >= first][:5]
        got = [claims(1, after=waiting.pop(number))[0] for number in taken]
        claim_cursor.note(got, limit=5, since=since, took=0.001, now=now)

    pytest.fail(f"{len(waiting)} jobs were never claimed: {waiting}")
