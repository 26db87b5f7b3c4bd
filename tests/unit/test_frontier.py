"""Where claims begin to look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf
from uuid import UUID

from windlass.job import Claim, JobId
from windlass.records import Wanted
from windlass.worker.frontier import EVERYWHERE_EVERY, Frontier

PAIRS = (Wanted("default", "report", timedelta(minutes=1), timedelta(minutes=5), 4),)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def claims(number: int, *, suspect_at: int | None = None) -> list[Claim]:
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
            turn_microseconds=int((NOON + timedelta(seconds=n)).timestamp() * 1_000_000),
        )
        for n in range(number)
    ]


def noted(claimed: list[Claim], *, limit: int, since: datetime | None = None, took: float = 0.01) -> Frontier:
    frontier = Frontier()
    frontier.note(claimed, limit=limit, since=since, took=took, now=100.0)
    return frontier


def test_the_first_claim_looks_everywhere() -> None:
    assert Frontier().since(PAIRS, 100.0) is None


def test_after_a_claim_that_got_everything_the_next_begins_at_its_last_job() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(3), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.since(PAIRS, 100.05) == NOON + timedelta(seconds=2)
    assert frontier.since(PAIRS, 100.0 + EVERYWHERE_EVERY) is None


def test_a_suspect_says_nothing_about_the_line() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(4, suspect_at=3), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.since(PAIRS, 100.05) == NOON + timedelta(seconds=2)


def test_a_look_everywhere_that_took_long_is_not_repeated_soon() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.5)
    frontier.note(claims(3), limit=3, since=None, took=0.5, now=100.0)

    assert frontier.since(PAIRS, 101.9) is not None
    assert frontier.since(PAIRS, 102.0) is None


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
    frontier = noted(claims(2), limit=3, since=NOON)

    frontier.note(claims(1), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.owed_at == 100.0 + EVERYWHERE_EVERY


def test_when_all_are_taken_a_hint_is_followed_behind_the_last_and_whatever_else_everywhere() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(2), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.since(PAIRS, 500.0, is_hinted=True) == NOON + timedelta(seconds=1)
    assert frontier.since(PAIRS, 500.0) is None


def test_a_look_that_took_nothing_keeps_the_place() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(2), limit=3, since=None, took=0.01, now=100.0)
    frontier.note([], limit=3, since=None, took=0.01, now=101.0)

    assert frontier.since(PAIRS, 500.0, is_hinted=True) == NOON + timedelta(seconds=1)


def test_hints_in_a_row_do_not_put_off_the_look_everywhere() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(1), limit=3, since=None, took=0.01, now=100.0)
    frontier.note(claims(1), limit=3, since=NOON, took=0.01, now=200.0)
    frontier.note(claims(1), limit=3, since=NOON, took=0.01, now=200.05)

    assert frontier.since(PAIRS, 200.09, is_hinted=True) is not None
    assert frontier.since(PAIRS, 200.0 + EVERYWHERE_EVERY, is_hinted=True) is None


def test_other_pairs_are_looked_for_everywhere() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(3), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.since((*PAIRS, *PAIRS), 100.05) is None
    assert frontier.since((*PAIRS, *PAIRS), 100.05, is_hinted=True) is None


def test_a_hint_is_followed_by_itself_only_when_all_there_was_is_taken() -> None:
    assert Frontier().is_caught_up(100.0)
    assert noted(claims(2), limit=3).is_caught_up(100.0)
    assert not noted(claims(3), limit=3).is_caught_up(100.0)


def test_hints_that_are_followed_by_themselves_do_not_put_off_the_look_everywhere() -> None:
    followed = noted(claims(1), limit=3, since=NOON)

    assert followed.is_caught_up(100.09)
    assert not followed.is_caught_up(100.0 + EVERYWHERE_EVERY)
    assert not noted([], limit=3, since=NOON).is_caught_up(100.0)


def test_what_a_hint_named_is_looked_for_behind_the_last_job_of_any_pair() -> None:
    assert Frontier().behind_the_last() < NOON - timedelta(days=9999)
    assert noted(claims(2), limit=3).behind_the_last() == NOON + timedelta(seconds=1)
