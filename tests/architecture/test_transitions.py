"""Every arrow of the state picture has a statement that draws it and a contract test that walks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from backstay.model.states import TRANSITIONS, State, Transition
from backstay.testing.contract import transitions

SQL = Path(__file__).resolve().parents[2] / "src" / "backstay" / "stores" / "sql"


def arrow_name(arrow: Transition) -> str:
    return f"{arrow.verb}: {arrow.source} to {arrow.target}"


@pytest.mark.parametrize("arrow", TRANSITIONS, ids=arrow_name)
def test_every_arrow_has_sql_for_both_databases(arrow: Transition) -> None:
    is_shared = (SQL / "shared" / f"{arrow.sql}.sql").is_file()
    is_in_both = all((SQL / name / f"{arrow.sql}.sql").is_file() for name in ("postgres", "sqlite"))

    assert is_shared or is_in_both


@pytest.mark.parametrize("verb", sorted({arrow.verb for arrow in TRANSITIONS}))
def test_every_verb_is_walked_by_the_contract_suite(verb: str) -> None:
    assert verb in transitions.VERBS


def test_every_state_can_be_entered_and_every_state_but_the_final_ones_left() -> None:
    assert {arrow.target for arrow in TRANSITIONS} == set(State)
    left = {arrow.source for arrow in TRANSITIONS} - {None}
    assert set(State) - left == {State.COMPLETED, State.RESOLVED, State.CANCELLED}
