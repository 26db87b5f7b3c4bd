"""Where claims begin to look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
            turn=NOON + timedelta(seconds=n),
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


def test_a_claim_that_came_back_with_less_is_followed_by_a_look_everywhere() -> None:
    short = noted(claims(2), limit=3, since=NOON)

    assert short.has_passed_over
    assert short.since(PAIRS, 100.0) is None
    assert not noted(claims(2), limit=3).has_passed_over
    assert not noted(claims(3), limit=3, since=NOON).has_passed_over


def test_what_was_passed_over_is_not_forgotten_for_another_claim() -> None:
    frontier = noted(claims(2), limit=3, since=NOON)

    frontier.note(claims(1), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.has_passed_over


def test_other_pairs_are_looked_for_everywhere() -> None:
    frontier = Frontier()
    frontier.since(PAIRS, 99.99)
    frontier.note(claims(3), limit=3, since=None, took=0.01, now=100.0)

    assert frontier.since((*PAIRS, *PAIRS), 100.05) is None
