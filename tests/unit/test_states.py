"""The picture of states: who may go where, and who never leaves."""

from __future__ import annotations

from itertools import product

import pytest

from backstay.model.states import FINAL, FINISHED, TRANSITIONS, WAITING, State, is_allowed, sources_of

ALLOWED = {
    None: {"scheduled", "held", "available"},
    State.SCHEDULED: {"scheduled", "held", "available", "dead", "cancelled"},
    State.HELD: {"scheduled", "available", "dead", "cancelled"},
    State.AVAILABLE: {"scheduled", "held", "running", "dead", "cancelled"},
    State.RUNNING: {"scheduled", "held", "available", "completed", "dead", "cancelled"},
    State.DEAD: {"scheduled", "available", "resolved"},
    State.COMPLETED: set(),
    State.RESOLVED: set(),
    State.CANCELLED: set(),
}


@pytest.mark.parametrize(("source", "target"), list(product([None, *State], State)))
def test_only_the_arrows_of_the_picture_exist(source: State | None, target: State) -> None:
    """ENG-025."""
    assert is_allowed(source, target) == (target.value in ALLOWED[source])


def test_nothing_leaves_a_final_state() -> None:
    assert not [arrow for arrow in TRANSITIONS if arrow.source in FINAL]


def test_a_dead_job_never_runs_without_waiting_first() -> None:
    """ENG-026."""
    assert not is_allowed(State.DEAD, State.RUNNING)
    assert sources_of("claim") == {State.AVAILABLE}


def test_only_a_persons_verbs_leave_dead() -> None:
    assert {arrow.verb for arrow in TRANSITIONS if arrow.source is State.DEAD} == {"retry", "resolve"}


def test_every_state_can_be_reached_from_a_new_job() -> None:
    reached = {arrow.target for arrow in TRANSITIONS if arrow.source is None}
    for _ in State:
        reached |= {arrow.target for arrow in TRANSITIONS if arrow.source in reached}

    assert reached == set(State)


def test_every_state_is_waiting_running_or_finished() -> None:
    assert set(State) == WAITING | {State.RUNNING} | FINISHED
    assert not WAITING & FINISHED


def test_no_arrow_is_drawn_twice() -> None:
    drawn = [(arrow.verb, arrow.source, arrow.target) for arrow in TRANSITIONS]

    assert len(drawn) == len(set(drawn))
