"""Whoever looks for faults must find those that we plant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from backstay.stores.database import queries
from backstay.testing import PrivatePostgres
from chaos.cutting import Cutter
from chaos.hunts import HUNTS, SCENES, hunt_down, play, run_test, table
from chaos.matrix import OPERATIONS
from chaos.mutants import MUTANTS, VARIABLE, Spoiled
from slices import drawn

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "reliability.md"
AT_ONCE = 3

BY_CHECKER = [name for name, hunt in HUNTS.items() if hunt.by == "checker"]
BY_TESTS = [name for name, hunt in HUNTS.items() if hunt.by == "test"]
IN_THE_GATE = drawn(BY_TESTS, 4)
BY_CUTS = [name for name, hunt in HUNTS.items() if hunt.by == "cut matrix"]


def test_every_mutant_is_hunted_and_published() -> None:
    assert list(HUNTS) == list(MUTANTS)
    assert len(MUTANTS) >= 15
    assert table() in PAGE.read_text()


@pytest.mark.parametrize("name", [name for name in MUTANTS if isinstance(MUTANTS[name].plant, Spoiled)])
def test_every_mutant_still_finds_the_words_that_it_spoils(name: str) -> None:
    """Whoever rewrites a statement is told at once that a mutant has to follow, not by a long run that misses it."""
    spoiled = MUTANTS[name].plant
    dialect = "sqlite" if "[sqlite]" in HUNTS[name].where else "postgres"
    text = queries.statement_text(dialect, spoiled.name)

    assert spoiled.spoil(text) != text


@pytest.mark.prove
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scene", SCENES)
async def test_the_product_passes_and_the_checker_finds_every_mutant(
    scene: str, postgres_server: PrivatePostgres
) -> None:
    """A scene as it is and with each mutant that is hunted in it, several at a time, since most of it is waiting."""
    room = asyncio.Semaphore(AT_ONCE)
    mutants = [name for name in BY_CHECKER if HUNTS[name].scene == scene]

    async def as_it_is() -> dict[str, list[str]]:
        async with room:
            return (await play(scene, None, postgres_server)).violations

    async def with_mutant(mutant: str) -> bool:
        async with room:
            return bool(await hunt_down(mutant, postgres_server))

    broken, *found = await asyncio.gather(as_it_is(), *map(with_mutant, mutants))

    assert broken == {}
    assert [mutant for mutant, is_found in zip(mutants, found, strict=True) if not is_found] == []


@pytest.mark.parametrize(
    "mutant",
    [name if name in IN_THE_GATE else pytest.param(name, marks=pytest.mark.prove) for name in BY_TESTS],
)
def test_a_test_finds(mutant: str) -> None:
    done = run_test(HUNTS[mutant].where, mutant)

    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
    assert "any more" not in done.stdout, done.stdout


@pytest.mark.prove
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", BY_CUTS)
async def test_the_cut_matrix_finds(mutant: str, new_database: Callable[[], str]) -> None:
    number = next(n for n, operation in enumerate(OPERATIONS) if operation.name == HUNTS[mutant].where)
    async with Cutter.at(new_database(), **{VARIABLE: mutant}) as cutter:
        assert await cutter.cut_everywhere(number) != []
