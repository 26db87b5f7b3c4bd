"""How waits are answered from what a job has received."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from backstay.model.signals import Mail, NotYet, Received, TimedOut, answer, awaited_signal, held_reason


def test_waits_take_signals_of_their_name_in_order() -> None:
    mail = Mail(received={"paid": ["1", "2"], "sent": ['"x"']})

    assert answer(mail, "paid", 1) == Received("1")
    assert answer(mail, "paid", 2) == Received("2")
    assert answer(mail, "paid", 3) == NotYet(3)
    assert answer(mail, "sent", 1) == Received('"x"')
    assert answer(mail, "lost", 1) == NotYet(1)


def test_a_wait_that_ran_out_takes_no_signal() -> None:
    mail = Mail(received={"paid": ["1"]}, timed_out={"paid": [1]})

    assert answer(mail, "paid", 1) == TimedOut()
    assert answer(mail, "paid", 2) == Received("1")
    assert answer(mail, "paid", 3) == NotYet(2)


def test_the_reason_tells_the_signal() -> None:
    assert awaited_signal(held_reason("approval")) == "approval"
    assert awaited_signal("paused") is None
    assert awaited_signal(None) is None


@given(
    some.lists(some.booleans(), max_size=30),
    some.lists(some.integers().map(str), max_size=30),
    some.lists(some.integers().map(str), max_size=10),
)
def test_what_comes_later_changes_no_answer_that_was_given(
    outcomes: list[bool], received: list[str], later: list[str]
) -> None:
    timed_out = [number for number, is_over in enumerate(outcomes, 1) if is_over]
    before = Mail({"s": received}, {"s": timed_out})
    after = Mail({"s": received + later}, {"s": [*timed_out, len(outcomes) + 1]})

    for number in range(1, len(outcomes) + 1):
        first = answer(before, "s", number)
        assert isinstance(first, NotYet) or answer(after, "s", number) == first


@given(some.lists(some.booleans(), max_size=30), some.lists(some.integers().map(str), max_size=30))
def test_every_signal_answers_one_wait(outcomes: list[bool], received: list[str]) -> None:
    timed_out = [number for number, is_over in enumerate(outcomes, 1) if is_over]
    mail = Mail({"s": received}, {"s": timed_out})

    answers = [answer(mail, "s", number) for number in range(1, len(outcomes) + len(received) + 1)]

    assert [one.payload for one in answers if isinstance(one, Received)] == received
