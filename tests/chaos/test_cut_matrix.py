"""Every operation of a store, cut at every statement: the state before or the state after, and a way on."""

from __future__ import annotations

import typing
from collections.abc import Callable

import pytest

from chaos.cutting import Cutter
from chaos.operations import OPERATIONS
from windlass.stores.contract import Stores

# Those that are cut in every run of the tests; the others in the long one.
OFTEN = {"claims.claim", "claims.complete", "claims.settle"}

# Promotion makes tables of the application's own, which the matrix could not put back between two cuts.
APART = {"promoted"}


def test_every_operation_of_the_contract_is_cut() -> None:
    promised = {
        f"{noun}.{verb}"
        for noun, protocol in typing.get_type_hints(Stores).items()
        for verb, function in vars(protocol).items()
        if noun not in APART and not verb.startswith("_") and callable(function)
    }

    assert promised == {operation.name for operation in OPERATIONS}


async def test_the_life_of_a_claim_cut_at_every_statement(new_database: Callable[[], str]) -> None:
    async with Cutter.at(new_database()) as cutter:
        chosen = [number for number, operation in enumerate(OPERATIONS) if operation.name in OFTEN]

        wrong = [told for number in chosen for told in await cutter.cut_everywhere(number)]

        assert cutter.cases > 100
    assert wrong == []


@pytest.mark.proof
@pytest.mark.timeout(1200)
async def test_every_operation_cut_at_every_statement(new_database: Callable[[], str]) -> None:
    async with Cutter.at(new_database()) as cutter:
        wrong = [told for number in range(len(OPERATIONS)) for told in await cutter.cut_everywhere(number)]

        assert cutter.cases > 900
    assert wrong == []
