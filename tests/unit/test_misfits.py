"""When a job does not fit a worker's code: what it comes to, and which worker leaves its kind to others."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backstay.errors import InvalidSettings
from backstay.handlers.spec import Unfit, describe
from backstay.model.misfits import LONGEST_PAUSE, pause_after
from backstay.model.outcome import Complete, ErrorInfo, Misfit
from backstay.runtime.env import Env
from backstay.worker.fetch.step_back import AFTER, SECONDS, StepBack

REFUSED = Misfit(ErrorInfo("InvalidArguments", "unknown argument", "invalid_input"), "old")


async def old(month: int) -> None: ...


async def new(month: int, colour: str = "red") -> None: ...


class Hand:
    """A worker's memory under a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.memory = StepBack(Env(monotonic=lambda: self.now))
        self.memory.other_code = frozenset({"report"})

    def refuse(self, times: int) -> None:
        for _ in range(times):
            self.memory.note("report", REFUSED)


def test_the_first_refusal_costs_no_time_and_later_ones_ever_more() -> None:
    seconds = [pause_after(times).total_seconds() for times in range(1, 10)]

    assert seconds == [0, 5, 10, 20, 40, 80, 160, 300, 300]
    assert pause_after(10**6) == LONGEST_PAUSE == timedelta(minutes=5)


def test_a_worker_leaves_a_kind_to_others_after_refusals_in_a_row_and_for_a_while() -> None:
    hand = Hand()
    hand.refuse(AFTER - 1)
    assert not hand.memory.leaves("report")

    hand.refuse(1)

    assert hand.memory.leaves("report")
    hand.now = SECONDS
    assert not hand.memory.leaves("report")


def test_a_job_that_fits_begins_the_row_anew() -> None:
    hand = Hand()
    hand.refuse(AFTER - 1)

    hand.memory.note("report", Complete())
    hand.refuse(AFTER - 1)

    assert not hand.memory.leaves("report")


def test_it_leaves_nothing_to_nobody() -> None:
    hand = Hand()
    hand.memory.other_code = frozenset()

    hand.refuse(2 * AFTER)

    assert not hand.memory.leaves("report")


def test_the_signature_tells_releases_apart_that_read_other_arguments() -> None:
    signatures = {
        describe(old, kind="report").argument_signature,
        describe(new, kind="report").argument_signature,
        describe(old, kind="report", extra="ignore").argument_signature,
        describe(old, kind="invoice").argument_signature,
    }

    assert len(signatures) == 4
    assert describe(old, kind="report", queue="x").argument_signature in signatures


def test_stored_arguments_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(Unfit, match="colour") as caught:
        describe(old, kind="report").unpack('{"month": 1, "colour": "blue"}')

    assert caught.value.signature == describe(old, kind="report").argument_signature


def test_stored_arguments_that_are_not_taken_can_be_ignored() -> None:
    spec = describe(old, kind="report", extra="ignore")

    assert spec.unpack('{"month": 1, "colour": "blue"}') == {"month": 1}
    with pytest.raises(Unfit, match="month"):
        spec.unpack('{"colour": "blue"}')


def test_extra_is_one_of_two_words() -> None:
    with pytest.raises(InvalidSettings, match="'refuse' or 'ignore'"):
        describe(old, extra="forget")  # type: ignore[arg-type]  # the mistake that is meant
