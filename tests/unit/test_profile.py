"""Every application keeps its own words for the same eight states, and its own priorities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import AEON, ALL, EXORA, OBLICORE, PASSPORT, WATCHPOINT

from backstay.errors import InvalidPolicy
from backstay.model.policy.policy import change, resolve
from backstay.model.policy.profile import DEFAULT, PriorityScale, Profile
from backstay.model.states import State

VOCABULARY = [
    (State.SCHEDULED, 0, None, ("PENDING", "pending", "QUEUED", None, "pending")),
    (State.SCHEDULED, 1, None, ("PENDING", "pending", "QUEUED", None, "retrying")),
    (State.AVAILABLE, 0, None, ("PENDING", "queued", "QUEUED", None, "pending")),
    (State.AVAILABLE, 1, None, ("PENDING", "queued", "QUEUED", None, "retrying")),
    (State.HELD, 0, "limit", ("PENDING", "pending", "QUEUED", None, "deferred")),
    (State.HELD, 0, "paused", (None, "paused", None, None, None)),
    (State.RUNNING, 1, None, ("RUNNING", "running", "RUNNING", "running", "processing")),
    (State.COMPLETED, 1, None, ("COMPLETED", "completed", "SUCCEEDED", "success", "completed")),
    (State.DEAD, 1, "hopeless", ("FAILED", "dead_letter", "FAILED", "failed", "failed")),
    (State.DEAD, 5, "exhausted", ("FAILED", "dead_letter", "DEAD_LETTER", "failed", "failed")),
    (State.CANCELLED, 0, "asked", ("CANCELLED", "cancelled", None, None, "cancelled")),
]


@pytest.mark.parametrize(("state", "attempt", "reason", "words"), VOCABULARY)
def test_each_profile_speaks_its_own_words(
    state: State, attempt: int, reason: str | None, words: tuple[str | None, ...]
) -> None:
    """ENG-024."""
    for profile, word in zip(ALL, words, strict=True):
        if word is not None:
            assert profile.word_for(state, attempt, reason) == word


@pytest.mark.parametrize("profile", [*ALL, DEFAULT], ids=lambda profile: profile.name)
@given(
    state=st.sampled_from(State),
    attempt=st.integers(0, 5),
    reason=st.sampled_from([None, "hopeless", "paused"]),
)
def test_every_word_leads_back_to_its_state(
    profile: Profile, state: State, attempt: int, reason: str | None
) -> None:
    assert state in profile.state_for(profile.word_for(state, attempt, reason))


def test_a_word_may_stand_for_several_states() -> None:
    assert OBLICORE.state_for("PENDING") == {State.SCHEDULED, State.HELD, State.AVAILABLE}
    assert EXORA.state_for("retrying") == {State.SCHEDULED, State.AVAILABLE}
    assert PASSPORT.meanings("FAILED") == {(State.DEAD, "hopeless"), (State.RESOLVED, "")}
    assert PASSPORT.state_for("succeeded") == {State.COMPLETED}


def test_an_unknown_word_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidPolicy, match=r"'finished'.*processing, .*retrying"):
        EXORA.state_for("finished")


def test_without_words_the_states_keep_their_names() -> None:
    assert [DEFAULT.word_for(state, attempt=1) for state in State] == [state.value for state in State]


@pytest.mark.parametrize(
    ("profile", "urgent", "calm"),
    [(OBLICORE, "HIGH", "LOW"), (OBLICORE, "HIGH", 0), (AEON, 10, 1), (PASSPORT, 1, 2), (EXORA, 1, 10)],
    ids=lambda value: value.name if isinstance(value, Profile) else str(value),
)
def test_the_more_urgent_priority_has_the_lower_rank(
    profile: Profile, urgent: int | str, calm: int | str
) -> None:
    """ENG-092."""
    assert profile.rank(urgent) < profile.rank(calm)


@pytest.mark.parametrize("profile", [*ALL, DEFAULT], ids=lambda profile: profile.name)
@pytest.mark.parametrize("priority", [-1, 11, True, 5.0, "URGENT", "5", None])
def test_an_impossible_priority_is_refused(profile: Profile, priority: object) -> None:
    """ENG-092."""
    with pytest.raises(InvalidPolicy, match="whole number from 1 to 10"):
        profile.rank(priority)  # type: ignore[arg-type]  # the point of the test


def test_zero_means_normal_only_where_it_is_declared() -> None:
    assert OBLICORE.rank(0) == OBLICORE.rank("normal") == 5
    with pytest.raises(InvalidPolicy):
        AEON.rank(0)


def test_high_first_turns_the_scale_around() -> None:
    assert [AEON.rank(priority) for priority in (1, 5, 10)] == [10, 6, 1]


def test_a_scale_cannot_name_a_rank_that_does_not_exist() -> None:
    with pytest.raises(InvalidPolicy):
        PriorityScale(names={"TOP": 0})


def test_a_queues_numbers_come_after_the_profiles() -> None:
    assert resolve(*OBLICORE.layers("deadline-alerts")).priority == 2
    assert resolve(*OBLICORE.layers("document-processing")).priority == 5
    assert resolve(*OBLICORE.layers("deadline-alerts"), change(priority=5)).priority == 5


def test_declared_categories_are_the_only_ones() -> None:
    """ENG-003."""
    assert EXORA.check_category("standard") == "standard"
    assert WATCHPOINT.check_category("anything") == WATCHPOINT.check_lane("anything") == "anything"
    with pytest.raises(InvalidPolicy, match="critical, high_priority, standard"):
        EXORA.check_category("document_processing")
