"""Every operation of a store, cut at every statement: the state before or the state after, and a way on."""

from __future__ import annotations

import typing
from collections.abc import Callable

import pytest

from backstay.stores.contract import Stores
from chaos import joined_operations
from chaos.cutting import Cutter
from chaos.matrix import OPERATIONS

# Those that are cut in every run of the tests; the others in the long one.
OFTEN = {"claims.claim", "claims.complete", "claims.settle"}

PARTS = 8

# What an application calls in a transaction of its own is no part of the contract of stores, and is cut all the same.
JOINED = {operation.name for operation in joined_operations.JOINED}


def test_every_operation_of_the_contract_is_cut() -> None:
    promised = {
        f"{noun}.{verb}"
        for noun, protocol in typing.get_type_hints(Stores).items()
        for verb, function in vars(protocol).items()
        if not verb.startswith("_") and callable(function)
    }

    assert promised | JOINED == {operation.name for operation in OPERATIONS}


async def test_the_life_of_a_claim_cut_at_every_statement(new_database: Callable[[], str]) -> None:
    async with Cutter.at(new_database()) as cutter:
        chosen = [number for number, operation in enumerate(OPERATIONS) if operation.name in OFTEN]

        wrong = [told for number in chosen for told in await cutter.cut_everywhere(number)]

        assert cutter.cases > 100
    assert wrong == []


@pytest.mark.prove
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
async def test_every_operation_cut_at_every_statement(part: int, new_database: Callable[[], str]) -> None:
    """In parts, so that several cores can share them."""
    async with Cutter.at(new_database()) as cutter:
        chosen = range(part, len(OPERATIONS), PARTS)

        wrong = [told for number in chosen for told in await cutter.cut_everywhere(number)]

        assert cutter.cases * PARTS > 1000
    assert wrong == []
