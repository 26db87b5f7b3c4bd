"""How each mutant is found: by the checker in a small run, by a test, mostly of the contract, or by the cut matrix.

`python -m chaos.hunts` prints the table of `docs/explanation/reliability.md`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backstay.testing import PrivatePostgres
from chaos import checker
from chaos.conductor import Plan, Report, run
from chaos.mutants import MUTANTS, VARIABLE

TESTS = Path(__file__).resolve().parents[1]
UNHARMED = (*checker.SAFETY, checker.the_living_keep_their_claims)
BATCHES: dict[str, Any] = {"many": 1.0, "mix": {"quick": 1}}
TRIES = 3
_numbers = count()

PLAIN: dict[str, Any] = {"keys": 0, "cancels": 0, "delays": 0, "flows": 0, "many": 0.0}


def small(**numbers: Any) -> Plan:
    """A run of two workers on two machines, with one sort of fault or none."""
    given: dict[str, Any] = {
        "seed": 1,
        "faults": 0,
        "rate": 1000,
        "lease": 2.0,
        "pause": 0.3,
        "poisons": 0,
        "machines": ("north", "south"),
        "rules": checker.SAFETY,
        "drain": 40.0,
        "goes_on": False,
        "patience": 150.0,
    }
    return Plan(**{**given, **numbers})


FROZEN = small(
    jobs=8,
    faults=1,
    only=("worker_frozen",),
    worker={"concurrency": 3, "once": 1.2},
    producer={**PLAIN, "mix": {"long": 1}},
)

SCENES: dict[str, Plan] = {
    "a worker is frozen": FROZEN,
    "a worker is frozen in its only attempt": replace(FROZEN, producer={**PLAIN, "mix": {"once": 1}}),
    "nothing happens": small(
        jobs=60,
        lease=4.0,
        rules=UNHARMED,
        producer={
            **PLAIN,
            "mix": {"quick": 1, "flaky": 1, "hopeless": 1},
            "delays": 0.5,
            "besides": ["blocking"],
        },
    ),
    "replies to claims are lost": small(
        jobs=900,
        rate=300,
        faults=2,
        goes_on=True,
        only=("claim_cut",),
        lease=6.0,
        rules=UNHARMED,
        # One statement is the whole claim; with limits most of the commits that are hit have claimed nothing.
        worker={"kinds": ["slow"]},
        producer={**PLAIN, "many": 1.0, "mix": {"slow": 1}},
    ),
    "nobody is told of new jobs": small(
        jobs=30,
        rate=6,
        rules=UNHARMED,
        drain=6.0,
        producer={**PLAIN, "mix": {"quick": 1}, "hints": False},
    ),
    "replies to enqueues are lost": small(
        jobs=600, rate=150, faults=3, goes_on=True, only=("enqueue_cut",), producer={**PLAIN, **BATCHES}
    ),
    "enqueues are lost": small(
        jobs=600, rate=150, faults=3, goes_on=True, only=("enqueue_lost",), producer={**PLAIN, **BATCHES}
    ),
    "workers are replaced": small(
        jobs=900,
        rate=200,
        faults=2,
        goes_on=True,
        only=("worker_replaced",),
        worker={"kinds": ["slow"]},
        producer={**PLAIN, "many": 1.0, "mix": {"slow": 1}},
    ),
    "commits of handlers are cut": small(
        jobs=60,
        rate=40,
        faults=4,
        goes_on=True,
        only=("booking_cut",),
        rules=(*checker.SAFETY, checker.effects_were_written),
        producer={**PLAIN, "mix": {"booked": 3, "booked_in_thread": 1}},
    ),
    "rooms are crowded": small(
        jobs=60,
        rules=UNHARMED,
        drain=10.0,
        producer={**PLAIN, "mix": {"exclusive": 2, "in_line": 1}},
    ),
    "the database is away": small(
        jobs=10,
        faults=2,
        only=("database_down",),
        lease=4.0,
        worker={"concurrency": 3},
        producer={**PLAIN, "mix": {"long": 1}},
    ),
}


@dataclass(frozen=True)
class Hunt:
    """Who finds a mutant, and where: a rule of the checker in a scene, a test, or an operation."""

    by: str
    where: str
    scene: str = ""


def seen(rule: checker.Rule, scene: str) -> Hunt:
    return Hunt("checker", rule.__name__, scene)


def contract(test: str) -> Hunt:
    module, _, name = test.partition("::")
    return Hunt("test", f"contract/test_{module}_contract.py::test_{name}")


HUNTS: dict[str, Hunt] = {
    "complete_without_fence": seen(checker.late_results_are_refused, "a worker is frozen"),
    "settle_without_fence": contract(
        "rescue::a_slow_worker_cannot_settle_or_renew_a_job_that_another_runs[sqlite]"
    ),
    "fence_by_attempt": seen(checker.late_results_are_refused, "a worker is frozen in its only attempt"),
    "renew_without_fence": contract(
        "rescue::a_slow_worker_cannot_settle_or_renew_a_job_that_another_runs[sqlite]"
    ),
    "takeover_keeps_epoch": seen(checker.leases_never_overlap, "a worker is frozen"),
    "retry_resets_epoch": seen(checker.leases_never_overlap, "nothing happens"),
    "lost_taken_for_done": contract("rescue::a_slow_worker_cannot_complete_a_rescued_job[sqlite]"),
    "repetition_taken_for_lost": contract(
        "settling::a_repeated_completion_is_done_and_changes_nothing[sqlite]"
    ),
    "settle_in_pieces": Hunt("cut matrix", "claims.settle"),
    "key_in_pieces": Hunt("cut matrix", "enqueuing.enqueue_keyed"),
    "transaction_in_pieces": seen(checker.effects_happen_once, "commits of handlers are cut"),
    "transaction_without_fence": Hunt(
        "test", "integration/test_exactly_once.py::test_a_worker_that_lost_the_job_writes_nothing[postgresql]"
    ),
    "look_then_insert_key": contract("keys::twenty_callers_with_one_key_make_one_job[postgres]"),
    "unknown_taken_for_failure": seen(checker.nothing_is_invented, "replies to enqueues are lost"),
    "unknown_taken_for_success": seen(checker.accepted_is_kept, "enqueues are lost"),
    "new_ids_when_repeated": seen(checker.nothing_is_invented, "replies to enqueues are lost"),
    "strays_kept": Hunt(
        "test",
        "process/test_lost_replies.py::test_jobs_whose_claim_was_lost_start_again_within_seconds",
    ),
    "claim_cut_off_at_stop": Hunt("test", "process/test_leaving.py::test_a_claim_under_way_is_given_back"),
    "rescue_without_grace": seen(checker.time_is_distrusted_after_a_restart, "the database is away"),
    "engine_on_handlers_loop": seen(checker.the_living_keep_their_claims, "nothing happens"),
    "workers_clock": seen(checker.leases_follow_the_database, "nothing happens"),
    "no_poll": seen(checker.every_job_ends_once, "nobody is told of new jobs"),
    "promoted_early": seen(checker.nobody_starts_early, "nothing happens"),
    "death_without_letter": seen(checker.the_dead_have_letters, "nothing happens"),
    "cancel_overwrites": contract("cancelling::a_completed_job_cannot_be_cancelled[sqlite]"),
    "resolved_twice": contract("dead_letters::of_two_admins_the_first_wins_and_the_second_is_told[sqlite]"),
    "dead_worker_claims": contract("claims::a_worker_given_up_for_dead_cannot_claim[sqlite]"),
    "claim_beyond_limit": contract("claims::the_limit_counts_over_all_pairs_together[postgres]"),
    "parents_counted_down": contract(
        "flows::a_child_of_two_that_complete_in_one_batch_is_released_once[sqlite]"
    ),
    "child_without_second_look": contract("flows::a_child_of_a_job_that_has_ended_need_not_wait[sqlite]"),
    "ends_not_swept": contract("whole_flows::the_sweep_finds_what_nobody_followed[sqlite]"),
    "wanted_parent_removed": contract(
        "whole_flows::a_parent_stays_as_long_as_a_held_child_may_want_its_result[sqlite]"
    ),
    "permit_counter": contract("limits::a_permit_is_gone_with_the_claim_of_a_worker_that_died[sqlite]"),
    "takeover_without_permits": contract(
        "limits::a_permit_is_gone_with_the_claim_of_a_worker_that_died[sqlite]"
    ),
    "nobody_is_unparked": seen(checker.every_job_ends_once, "rooms are crowded"),
    "mark_then_insert_cron": Hunt("cut matrix", "schedules.fire"),
    "fire_without_compare": contract(
        "schedules::a_scheduler_that_slept_after_reading_makes_nothing_twice[sqlite]"
    ),
    "lock_taken_from_the_living": contract("locks::a_lock_has_one_holder[sqlite]"),
}


async def hunt_down(mutant: str, server: PrivatePostgres) -> list[str]:
    """What the rule says that must find this mutant; [] when it does not.

    A mutant may need that two processes meet at the wrong moment, which is likely in each play and certain in none.
    The product as it is has no such excuse.
    """
    hunt = HUNTS[mutant]
    for number in range(TRIES):
        report = await play(hunt.scene, mutant, server, seed=number + 1)
        if told := report.violations.get(hunt.where):
            return told
    return []


async def play(scene: str, mutant: str | None, server: PrivatePostgres, *, seed: int = 1) -> Report:
    """Make one small run, with a mutant or with the product as it is."""
    plan = replace(SCENES[scene], seed=seed, environment={VARIABLE: mutant or ""})
    with TemporaryDirectory(prefix="backstay-hunt-") as folder:
        if "database_down" not in plan.only:
            return await run(plan, server, database=f"hunt_{next(_numbers)}", folder=Path(folder))
        # Whoever stops the server must have one of his own.
        own = await asyncio.to_thread(PrivatePostgres.start, fsync=False)
        try:
            return await run(plan, own, database="hunt", folder=Path(folder))
        finally:
            await asyncio.to_thread(own.close)


def run_test(test: str, mutant: str) -> subprocess.CompletedProcess[str]:
    """One of the tests, in a process with the mutant planted."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "chaos.mutants",
            "-p",
            "no:cacheprovider",
            f"{TESTS}/{test}",
        ],
        env={**os.environ, "PYTHONPATH": str(TESTS), VARIABLE: mutant},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def table() -> str:
    """Every mutant with who finds it, as the documentation shows it."""
    rows = ["| if | it is found by |", "| --- | --- |"]
    for name, mutant in MUTANTS.items():
        hunt = HUNTS[name]
        where = hunt.where.replace("_", " ").split("[")[0]
        file, _, fact = where.partition(".py::test ")
        suite = file.removeprefix("contract/test ").removesuffix(" contract")
        told = {
            "checker": f"the checker, when {hunt.scene}: *{where}*",
            "test": f"the contract suite, {suite}: {fact}"
            if file.startswith("contract/")
            else f"the tests of `{hunt.where.partition('::')[0]}`: {fact}",
            "cut matrix": f"the cut matrix, `{hunt.where}`",
        }[hunt.by]
        rows.append(f"| {mutant.what} | {told} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
