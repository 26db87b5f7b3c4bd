"""What a worker and the processes of its handlers say to each other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from backstay.model.outcome import (
    Complete,
    Crashed,
    ErrorInfo,
    Fail,
    Misfit,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Waiting,
)
from backstay.model.signals import Wait
from backstay.worker.process.protocol import (
    BegunMessage,
    Measured,
    Report,
    Unpacking,
    packed,
    refuse_unsayable,
)

BEGUN = BegunMessage(cpu_before=0.25, peak_rss_mb=34)
MEASURED = Measured(cpu_ms=12, peak_rss_mb=34)
ERROR = ErrorInfo("ValueError", "naïve \\ud800 \n", "unknown", traceback="File …", code="E1", status=503)


@pytest.mark.parametrize(
    "outcome",
    [
        Complete(),
        Complete('{"a": [1, null, "ü"]}'),
        Fail(ERROR),
        Fail(ERROR, hopeless=True, retry_after=timedelta(seconds=1.5)),
        Snoozed(timedelta(0)),
        Waiting(Wait("approval", 2, 1, timedelta(hours=1))),
        Stopped(""),
        Misfit(ERROR, "5f3a"),
    ],
)
def test_an_outcome_is_understood_as_it_was_meant(outcome: Outcome) -> None:
    unpacking = Unpacking()

    unpacking.add(packed(Report.of(outcome, MEASURED)))
    report = unpacking.next(Report)

    assert report is not None
    assert (report.outcome, report.measured) == (outcome, MEASURED)


@pytest.mark.parametrize("outcome", [Released(), Crashed("w")])
def test_what_only_a_worker_can_say_is_not_said_for_it(outcome: Outcome) -> None:
    with pytest.raises(AssertionError):
        Report.of(outcome, MEASURED)


@pytest.mark.parametrize(
    "odd",
    [
        Stopped(5),  # type: ignore[arg-type]  # what the test is about
        Stopped(None),  # type: ignore[arg-type]  # what the test is about
        Stopped("\ud800"),
        Snoozed("soon"),  # type: ignore[arg-type]  # what the test is about
        Fail(ERROR, retry_after=5),  # type: ignore[arg-type]  # what the test is about
        Fail(ErrorInfo("ValueError", "", "unknown", context={"at": object()})),
    ],
)
def test_what_the_worker_would_not_understand_is_refused_before_it_is_said(odd: Outcome) -> None:
    with pytest.raises((TypeError, ValueError)):
        refuse_unsayable(odd)


def test_what_the_worker_understands_is_not_refused() -> None:
    refuse_unsayable(Fail(ERROR, hopeless=True, retry_after=timedelta(seconds=1.5)))
    refuse_unsayable(Stopped("not needed"))


def test_messages_are_put_together_from_pieces() -> None:
    report = Report.of(Complete('"' + "x" * 300 + '"'), MEASURED)
    unpacking, heard = Unpacking(), []

    for byte in packed(BEGUN) + packed(report):
        unpacking.add(bytes([byte]))
        heard.append(unpacking.next(Report if any(heard) else BegunMessage))

    assert [message for message in heard if message is not None] == [BEGUN, report]
