"""Whoever looks for faults must find those that we plant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from chaos.conductor import Report
from chaos.cutting import Cutter
from chaos.hunts import HUNTS, SCENES, play, run_contract, table
from chaos.mutants import MUTANTS, VARIABLE
from chaos.operations import OPERATIONS
from windlass.testing import PrivatePostgres

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "reliability.md"
AT_ONCE = 4

BY_CHECKER = [name for name, hunt in HUNTS.items() if hunt.by == "checker"]
BY_CONTRACT = [name for name, hunt in HUNTS.items() if hunt.by == "contract"]
BY_CUTS = [name for name, hunt in HUNTS.items() if hunt.by == "cut matrix"]

Played = dict[tuple[str, str | None], Report]


def test_every_mutant_is_hunted_and_published() -> None:
    assert list(HUNTS) == list(MUTANTS)
    assert len(MUTANTS) >= 15
    assert table() in PAGE.read_text()


@pytest.fixture(scope="module")
def played(postgres_server: PrivatePostgres) -> Played:
    """Every scene with every mutant that is hunted in it, and once without; several at a time, since most only wait."""
    asked = [(scene, None) for scene in SCENES] + [(HUNTS[name].scene, name) for name in BY_CHECKER]
    numbers = count()

    async def play_all() -> Played:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(scene: str, mutant: str | None) -> Report:
            async with room:
                return await play(scene, mutant, postgres_server, next(numbers))

        done = await asyncio.gather(*(one(*pair) for pair in asked))
        return dict(zip(asked, done, strict=True))

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, play_all()).result()


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scene", SCENES)
def test_the_product_as_it_is_passes(scene: str, played: Played) -> None:
    assert played[scene, None].violations == {}


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutant", BY_CHECKER)
def test_the_checker_finds(mutant: str, played: Played) -> None:
    hunt = HUNTS[mutant]

    assert played[hunt.scene, mutant].violations.get(hunt.where)


@pytest.mark.proof
@pytest.mark.parametrize("mutant", BY_CONTRACT)
def test_the_contract_suite_finds(mutant: str) -> None:
    done = run_contract(HUNTS[mutant].where, mutant)

    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout


@pytest.mark.proof
@pytest.mark.parametrize("mutant", BY_CUTS)
async def test_the_cut_matrix_finds(mutant: str, new_database: Callable[[], str]) -> None:
    number = next(n for n, operation in enumerate(OPERATIONS) if operation.name == HUNTS[mutant].where)
    async with Cutter.at(new_database(), **{VARIABLE: mutant}) as cutter:
        assert await cutter.cut_everywhere(number) != []
