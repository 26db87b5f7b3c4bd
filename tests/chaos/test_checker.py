"""The checker itself: it passes what is right, finds each thing that is wrong, and knows nothing of the product."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chaos import checker
from chaos.evidence import Call, Event, Evidence, Line, Row, Tried

NOON = datetime(2030, 5, 17, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
LEASE = 3 * SECOND

Spoil = Callable[[Evidence], Evidence]


def event(job_id: str, states: tuple[str | None, str], epochs: tuple[int | None, int], at: int) -> Event:
    return Event(
        job_id=job_id,
        from_state=states[0],
        to_state=states[1],
        from_epoch=epochs[0],
        to_epoch=epochs[1],
        settled_epoch=epochs[0] if states[0] == "running" != states[1] else None,
        is_rescuers=states == ("running", "running"),
        run=1 if at < 200 else 2,
        attempt=1,
        worker="w",
        worker_state="alive",
        lease=LEASE,
        lease_expires_at=NOON + at * SECOND + LEASE if states[1] == "running" else None,
        run_at=NOON,
        at=NOON + at * SECOND,
        database_started=NOON - timedelta(hours=1),
    )


def sound() -> Evidence:
    """A job that was rescued once and then completed, one that died, and one with a key."""
    return Evidence(
        calls=[
            Call(1, "quick", None, "ok", "a"),
            Call(2, "hopeless", None, "unknown", None),
            Call(3, "quick", "k", "ok", "c"),
            Call(3, "quick", "k", "ok", "c"),
            Call(4, "quick", None, "refused", None),
        ],
        lines=[
            Line("start", "a", 1, 7, 1.0),
            Line("end", "a", 1, 7, 9.0),
            Line("start", "a", 2, 8, 4.0),
            Line("end", "a", 2, 8, 5.0),
            Line("start", "b", 1, 7, 1.0),
            Line("start", "c", 1, 7, 1.0),
            Line("end", "c", 1, 7, 2.0),
        ],
        events=[
            event("a", (None, "available"), (None, 0), 0),
            event("a", ("available", "running"), (0, 1), 1),
            event("a", ("running", "running"), (1, 3), 100),
            event("a", ("running", "available"), (3, 4), 101),
            event("a", ("available", "running"), (4, 5), 200),
            event("a", ("running", "completed"), (5, 6), 201),
            event("b", (None, "scheduled"), (None, 0), 0),
            event("b", ("scheduled", "available"), (0, 0), 1),
            event("b", ("available", "running"), (0, 1), 2),
            event("b", ("running", "dead"), (1, 2), 3),
            event("c", (None, "available"), (None, 0), 0),
            event("c", ("available", "running"), (0, 1), 1),
            event("c", ("running", "completed"), (1, 2), 2),
        ],
        rows=[
            Row("a", "quick", 1, "completed", None, 6, 5, 2, 2, 5, {"run": 2}, None),
            Row("b", "hopeless", 2, "dead", "hopeless", 2, 1, 1, 1, 1, None, None),
            Row("c", "booked", 3, "completed", None, 2, 1, 1, 1, 5, {"run": 1}, "k"),
        ],
        tried=[Tried("a", 3, 1, "crashed"), Tried("b", 1, 1, "failed")],
        letters=[("b", 1)],
        effects=[("c", 1)],
        ties=[("c", "b")],
        transactional=frozenset({"booked"}),
    )


def both_at_once() -> list[Event]:
    """Two jobs are claimed before either of them ends."""
    return [event(job, ("available", "running"), (0, 1), 1) for job in ("a", "c")]


def changed(number: int, **facts: object) -> Spoil:
    """Tell one event otherwise."""

    def spoil(given: Evidence) -> Evidence:
        events = list(given.events)
        events[number] = replace(events[number], **facts)  # type: ignore[arg-type]  # names of fields
        return replace(given, events=events)

    return spoil


def other_row(number: int, **facts: object) -> Spoil:
    """Tell one job otherwise."""

    def spoil(given: Evidence) -> Evidence:
        rows = list(given.rows)
        rows[number] = replace(rows[number], **facts)  # type: ignore[arg-type]  # names of fields
        return replace(given, rows=rows)

    return spoil


WRONG: list[tuple[checker.Rule, Spoil]] = [
    (checker.accepted_is_kept, lambda given: replace(given, rows=given.rows[1:])),
    (checker.nothing_is_invented, other_row(0, n=4)),
    (checker.nothing_is_invented, other_row(0, n=3)),
    (checker.every_job_ends_once, other_row(0, state="running")),
    (checker.every_job_ends_once, changed(3, to_state="completed")),
    (checker.leases_never_overlap, changed(2, to_epoch=1)),
    (checker.leases_never_overlap, changed(4, from_epoch=2)),
    (checker.leases_follow_the_database, changed(1, lease_expires_at=NOON + timedelta(minutes=10))),
    (checker.late_results_are_refused, other_row(0, result={"run": 1})),
    (checker.late_results_are_refused, changed(5, settled_epoch=1)),
    (checker.attempts_are_counted, other_row(0, attempt=6)),
    (checker.attempts_are_counted, lambda given: replace(given, tried=given.tried[1:])),
    (
        checker.attempts_are_counted,
        lambda given: replace(given, tried=[*given.tried, Tried("c", 1, 1, "failed")]),
    ),
    (checker.effects_happen_once, lambda given: replace(given, lines=[*given.lines, given.lines[3]])),
    (checker.effects_happen_once, lambda given: replace(given, lines=given.lines[:3])),
    (checker.effects_happen_once, lambda given: replace(given, effects=[])),
    (checker.effects_happen_once, lambda given: replace(given, effects=[("c", 1), ("c", 1)])),
    (checker.effects_happen_once, lambda given: replace(given, effects=[("c", 2)])),
    (checker.rooms_hold_one, lambda given: replace(given, permits=1)),
    (
        checker.rooms_hold_one,
        lambda given: replace(
            given, rows=[replace(row, kind="exclusive", n=0) for row in given.rows], events=both_at_once()
        ),
    ),
    (checker.keys_stand_for_one_job, other_row(0, key="k")),
    (
        checker.keys_stand_for_one_job,
        lambda given: replace(given, calls=[*given.calls, Call(3, "quick", "k", "ok", "a")]),
    ),
    (checker.only_published_arrows, changed(4, from_state="completed")),
    (checker.the_dead_have_letters, lambda given: replace(given, letters=[])),
    (checker.nobody_starts_early, changed(7, run_at=NOON + timedelta(hours=1))),
    (checker.every_fire_makes_one_job, lambda given: replace(given, fires=[(1.0, "z")])),
    (checker.parents_end_first, lambda given: replace(given, ties=[("a", "c")])),
    (checker.time_is_distrusted_after_a_restart, changed(2, database_started=NOON + 99 * SECOND)),
    (checker.who_leaves_holds_nothing, changed(2, worker_state="stopped")),
    (checker.only_poison_is_condemned, other_row(1, reason="crash loop")),
]


def test_a_sound_history_passes() -> None:
    assert checker.judge(sound(), checker.SAFETY) == {}


@pytest.mark.parametrize(("rule", "spoil"), WRONG)
def test_what_is_wrong_is_found(rule: checker.Rule, spoil: Spoil) -> None:
    assert list(rule(spoil(sound())))


def crash_loop(*workers: str) -> Spoil:
    """The second job was taken from these workers, one after the other, and condemned for it."""

    def spoil(given: Evidence) -> Evidence:
        taken = [
            replace(event("b", ("running", "running"), (1, 3), 100 + at), worker=worker)
            for at, worker in enumerate(workers)
        ]
        poison = [
            replace(event("p", ("running", "running"), (1, 3), 150 + at), worker=worker)
            for at, worker in enumerate(("unrecognised", "unseen", "poisoned"))
        ]
        rows = [*given.rows, Row("p", "poison", 9, "dead", "crash loop", 2, 1, 1, 1, 1, None, None)]
        return other_row(1, reason="crash loop")(
            replace(given, events=[*given.events, *taken, *poison], rows=rows)
        )

    return spoil


@pytest.mark.parametrize("second", ["w2", "unrecognised"])
def test_who_is_struck_by_what_nobody_suspects_each_time_may_be_condemned(second: str) -> None:
    struck = crash_loop("poisoned", "w0", "w1", second, "w3")(sound())

    assert list(checker.only_poison_is_condemned(struck)) == []


@pytest.mark.parametrize("workers", [("w0", "w1", "w2", "w3"), ("w0", "w1", "w2", "poisoned", "w3")])
def test_who_is_condemned_for_too_little_or_for_another_is_found(workers: tuple[str, ...]) -> None:
    [found] = checker.only_poison_is_condemned(crash_loop(*workers)(sound()))

    assert "was condemned for crashes that were another's" in found


def test_every_rule_is_shown_to_find_something() -> None:
    assert {rule for rule, _ in WRONG} == set(checker.SAFETY)


def test_a_run_in_which_nothing_happened_proves_nothing() -> None:
    calm = replace(sound(), events=[], faults=[], told={}, effects=[], ties=[])

    assert set(checker.judge(calm, checker.VACUOUS)) == {rule.__name__ for rule in checker.VACUOUS}


@pytest.mark.parametrize("name", ["checker", "evidence"])
def test_who_judges_imports_nothing_of_the_product(name: str) -> None:
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text())
    imported = {
        module.split(".")[0]
        for node in ast.walk(tree)
        for module in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }

    assert imported <= set(sys.stdlib_module_names) | {"asyncpg", "chaos"}
