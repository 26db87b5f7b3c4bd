"""Which jobs an application means by its words for states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backstay.model.states import WAITING, State


@dataclass(frozen=True, slots=True)
class StateMatch:
    """The jobs that have one of these words: by state and reason, between two attempts, or by state alone.

    Whatever is known of a reason decides first, then whether the job is between two attempts, then the state.
    """

    reasons: tuple[str, ...] = ()
    known_reasons: tuple[str, ...] = ()
    retrying: tuple[str, ...] = ()
    known_retrying: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


def state_match(
    words: Mapping[tuple[State, str], str], wanted: Iterable[State | str], *, retrying: str
) -> StateMatch:
    """What to look for, to find every job that is called by one of the words, or is in one of the states."""
    asked = tuple(wanted)
    states = {one for one in asked if isinstance(one, State)}
    spoken = {one.casefold() for one in asked if not isinstance(one, State)}

    def is_meant(state: State, word: str) -> bool:
        return state in states or word.casefold() in spoken

    reasons = {key: word for key, word in words.items() if key[1] not in ("", retrying)}
    between = {
        state: word for (state, detail), word in words.items() if detail == retrying and state in WAITING
    }
    return StateMatch(
        reasons=_keys(key for key, word in reasons.items() if is_meant(key[0], word)),
        known_reasons=_keys(reasons),
        retrying=tuple(sorted(state.value for state, word in between.items() if is_meant(state, word))),
        known_retrying=tuple(sorted(state.value for state in between)),
        states=tuple(state.value for state in State if is_meant(state, words.get((state, ""), state.value))),
    )


def _keys(found: Iterable[tuple[State, str]]) -> tuple[str, ...]:
    return tuple(sorted(f"{state.value}/{reason}" for state, reason in found))
